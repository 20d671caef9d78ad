import type { Mapper } from '../domain/mapping.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { ReplayOutcome, ReplaySelection } from '../domain/ports/replay.ts';
import { mapRecord } from './map-stored.ts';

const BATCH = 250;

export interface ReplayRequest {
  selection: ReplaySelection;
  force: boolean;
  /** Only reports what would happen. */
  dryRun: boolean;
}

/** What a replay did, or would do. */
export interface ReplayReport extends ReplayOutcome {
  /** Stored records that were looked at. */
  records: number;
  /** Of them, those that have no issue now. */
  passing: number;
  /** Passports that are asked for again, and those that are not since their products are not complete. */
  passports: { asked: number; incomplete: number };
}

/**
 * Maps stored records again with the present mapping, and stages the items as new revisions: a replay never sends the old
 * mistake again.
 */
export async function replay(
  request: ReplayRequest,
  options: { ledger: Ledger; mapperOf: (source: string) => Mapper | null },
): Promise<ReplayReport> {
  const { selection, force, dryRun } = request;
  const { ledger, mapperOf } = options;
  // First of all: what is sent again by force is unconfirmed no more.
  const forced = force ? await ledger.forceUnconfirmed({ selection, dryRun }) : 0;
  const passports = await ledger.replayPassports({ selection, dryRun });
  const report: ReplayReport = {
    records: 0,
    passing: 0,
    passports: { asked: passports.asked, incomplete: passports.incomplete },
    staged: forced + passports.asked,
    quarantined: 0,
    leftUnconfirmed: passports.leftUnconfirmed,
  };
  let afterId = 0;
  for (;;) {
    const candidates = await ledger.replayCandidates({ selection, afterId, limit: BATCH });
    const last = candidates.at(-1);
    // A dry run has left unconfirmed what would be sent again.
    if (!last) return { ...report, leftUnconfirmed: Math.max(0, report.leftUnconfirmed - (dryRun ? forced : 0)) };
    afterId = last.id;
    const mapped = candidates.flatMap((record) => {
      const mapper = mapperOf(record.source);
      return mapper ? [mapRecord(mapper, record)] : [];
    });
    const outcome = await ledger.replay({ records: mapped, dryRun });
    report.records += candidates.length;
    report.passing += mapped.length - outcome.quarantined;
    report.staged += outcome.staged;
    report.quarantined += outcome.quarantined;
    report.leftUnconfirmed += outcome.leftUnconfirmed;
  }
}
