// How the ledger stands, and what needs a person.

import { undecidedCounts } from '../../domain/missing-items.ts';
import type {
  Attention,
  LedgerStanding,
  SourceRuns,
  StandingAsked,
  WaitingGroup,
} from '../../domain/ports/ledger/ledger-views.ts';
import { paddedKeys } from '../items/content.ts';
import { ignoredMissing, missingOutcomes } from '../items/missing.ts';
import { type ItemTotals, itemCounts, passportCounts } from './counts.ts';
import { itemsInOtherForm } from './item-views.ts';
import { duplicates, guardedReads, quarantinedCount } from './record-views.ts';
import { completeAt, lastRuns } from './run-views.ts';
import {
  adoptedChanges,
  awaitingReadBack,
  refusedWork,
  stuckCauses,
  suspendedKinds,
  unansweredParts,
  unprovenWrites,
  waitingFor,
} from './undelivered-views.ts';
import type { ViewReads } from './view-reads.ts';

/** @param totals how many items the ledger has, if that is known already */
export function standing(
  reads: ViewReads,
  { sources, watched }: StandingAsked,
  totals?: () => ItemTotals,
): LedgerStanding {
  // An empty list of sources would select all sources.
  const missing = watched.length === 0 ? [] : missingOutcomes(reads, watched);
  const others = sources.filter((id) => !watched.includes(id));
  return {
    items: itemCounts(reads, [], totals),
    passports: passportCounts(reads, sources),
    quarantined: quarantinedCount(reads, sources),
    guarded: guardedReads(reads, sources),
    failedRuns: sourceRuns(reads, sources).flatMap(({ failed }) => failed ?? []),
    missing: undecidedCounts(missing),
    missingOutcomes: [...missing, ...ignoredMissing(reads, others)],
    suspended: suspendedKinds(reads, sources),
    refused: refusedWork(reads, sources),
    otherForms: itemsInOtherForm(reads),
    paddedKeys: paddedKeys(reads, sources),
  };
}

/** The runs of these sources. A run that has not ended does not count as failed. */
export function sourceRuns(reads: ViewReads, sources: readonly string[]): SourceRuns[] {
  return sources.map((source) => {
    const runs = lastRuns(reads, { source, limit: 2 });
    const ended = runs.find(({ endedAt }) => endedAt !== null);
    const failed = ended?.result === 'failed' ? { source, error: ended.error ?? 'No reason was kept.' } : null;
    return { source, lastRun: runs[0] ?? null, completeAt: completeAt(reads, source), failed };
  });
}

const GROUPS_MAX = 200;
const STUCK_MAX = 5;
const DUPLICATES_MAX = 3;

export function attention(reads: ViewReads, sources: readonly string[]): Attention {
  const onTheWay = (state: WaitingGroup['state']) => state === 'due' || state === 'sending';
  return {
    waitingFor: waitingFor(reads, GROUPS_MAX, sources).filter(({ state }) => !onTheWay(state)),
    stuck: stuckCauses(reads, STUCK_MAX, sources),
    awaitingReadBack: awaitingReadBack(reads, sources),
    duplicates: duplicates(reads, DUPLICATES_MAX, sources),
    adopted: adoptedChanges(reads, sources),
    parts: unansweredParts(reads, sources),
    unproven: unprovenWrites(reads, sources),
  };
}
