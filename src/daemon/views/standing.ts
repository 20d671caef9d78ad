import { type MissingCounts, type MissingGroup, undecidedCounts } from '../../domain/missing-items.ts';
import type { LedgerViews, PaddedKeys } from '../../domain/ports/ledger/ledger-views.ts';
import type { FailedRun, LedgerStanding } from '../../observe/causes.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';

/** The state of the ledger for some sources, without its items. */
export interface SourcesStanding extends Omit<LedgerStanding, 'items'> {
  /** Items that are missing from their sources and about which no person has decided. */
  missing: MissingCounts;
  /** All missing items, by what becomes of them. */
  missingOutcomes: MissingGroup[];
  /** Items that the platform has under a key with padding. */
  paddedKeys: PaddedKeys[];
}

/** @param selected ids of configured sources */
export function standingOf(
  views: LedgerViews,
  config: Pick<RuntimeConfig, 'sources'>,
  selected: readonly string[],
): SourcesStanding {
  const watched = watchedOf(config, selected);
  // An empty list of sources would select all sources.
  const missing = watched.length === 0 ? [] : views.missingOutcomes(watched);
  const others = selected.filter((id) => !watched.includes(id));
  return {
    passports: views.passportCounts(selected),
    quarantined: views.quarantinedCount(selected),
    guarded: views.guardedReads(selected),
    failedRuns: failedRunsOf(views, selected),
    suspended: views.suspended(selected),
    refused: views.refused(selected),
    missing: undecidedCounts(missing),
    missingOutcomes: [...missing, ...views.ignoredMissing(others)],
    paddedKeys: views.paddedKeys(selected),
  };
}

/** The sources whose missing items are counted: all sources without `onMissing: ignore`. */
export function watchedOf({ sources }: Pick<RuntimeConfig, 'sources'>, selected: readonly string[]): string[] {
  return sources.filter(({ id, onMissing }) => selected.includes(id) && onMissing !== 'ignore').map(({ id }) => id);
}

/** Sources whose last finished run failed. A run that has not ended does not count. */
export function failedRunsOf(views: LedgerViews, sources: readonly string[]): FailedRun[] {
  return sources.flatMap((source) => {
    const last = views.runs({ source, limit: 2 }).find(({ endedAt }) => endedAt !== null);
    return last?.result === 'failed' ? [{ source, error: last.error ?? 'No reason was kept.' }] : [];
  });
}
