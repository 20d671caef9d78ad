import { setImmediate as nextTurn } from 'node:timers/promises';
import { ITEM_KINDS } from '../domain/item.ts';
import type { Mapper } from '../domain/mapping.ts';
import type { MappedRecord } from '../domain/ports/intake.ts';
import type { IntakeLedger } from '../domain/ports/ledger/intake-ledger.ts';
import type {
  FormReplay,
  FormReplayOutcome,
  KindCounts,
  ReplayCandidate,
  ReplayLedger,
  ReplayOutcome,
  ReplaySelection,
} from '../domain/ports/ledger/replay-ledger.ts';
import { entriesOf, mapStoredRecords } from './map-records.ts';

/** How many stored records are read at once. */
const PAGE = 250;
/**
 * How many records are mapped without a pause and staged in one write. An answer of the API waits for no more than this
 * many records.
 */
const BATCH = 100;

export interface ReplayRequest {
  selection: ReplaySelection;
  force: boolean;
  /** True to report the result without changing anything. */
  dryRun: boolean;
}

/** The result of a replay, or of its dry run. */
export interface ReplayReport extends ReplayOutcome {
  /** How many stored records were mapped. */
  records: number;
  /** How many of the mapped records have no issue any more. */
  passing: number;
  /** How many of the selected records were not mapped, because the config no longer has their source. */
  unmapped: number;
  /** How many passports are sent again, and how many are not because their products are incomplete. */
  passports: { asked: number; incomplete: number };
}

/**
 * Maps stored records again with the present mapping, and stages their items as new revisions. So a replay never sends
 * an old mistake again.
 */
export async function replay(
  request: ReplayRequest,
  options: {
    ledger: Pick<ReplayLedger, 'forceUnconfirmed' | 'replayPassports' | 'replay' | 'replayCandidates'> &
      Pick<IntakeLedger, 'findLookups'>;
    mapperOf: (source: string) => Mapper | null;
  },
): Promise<ReplayReport> {
  const { selection, force, dryRun } = request;
  const { ledger, mapperOf } = options;
  // The forced deliveries are sent first, so that the replay does not count them as unconfirmed.
  const forced = force ? await ledger.forceUnconfirmed({ selection, dryRun }) : 0;
  const passports = await ledger.replayPassports({ selection, dryRun });
  const report: ReplayReport = {
    records: 0,
    passing: 0,
    unmapped: 0,
    passports: { asked: passports.asked, incomplete: passports.incomplete },
    staged: forced + passports.asked,
    quarantined: 0,
    leftUnconfirmed: passports.leftUnconfirmed,
  };
  async function replayBatch(records: readonly ReplayCandidate[]): Promise<void> {
    const mapped: MappedRecord[] = [];
    for (const [source, ofSource] of Map.groupBy(records, (record) => record.source)) {
      const mapper = mapperOf(source);
      if (mapper === null) continue;
      const found = mapStoredRecords(mapper, ofSource, entriesOf(ledger));
      mapped.push(...(found instanceof Promise ? await found : found));
    }
    mapped.sort((a, b) => a.id - b.id);
    const outcome = await ledger.replay({ records: mapped, renames: selection.keys.length > 0, dryRun });
    report.records += mapped.length;
    report.unmapped += records.length - mapped.length;
    // The ledger leaves out records whose lookup entries have changed meanwhile. A dry run counts them by their mapping
    // only.
    const failing = mapped.filter(({ result }) => result.status === 'quarantined').length;
    const quarantined = dryRun ? Math.max(outcome.quarantined, failing) : outcome.quarantined;
    report.passing += mapped.length - quarantined;
    report.staged += outcome.staged;
    report.quarantined += quarantined;
    report.leftUnconfirmed += outcome.leftUnconfirmed;
  }

  let afterId = 0;
  for (;;) {
    const candidates = await ledger.replayCandidates({ selection, afterId, limit: PAGE });
    const last = candidates.at(-1);
    // A dry run counts the forced deliveries as left unconfirmed, so they are subtracted.
    if (!last) return { ...report, leftUnconfirmed: Math.max(0, report.leftUnconfirmed - (dryRun ? forced : 0)) };
    afterId = last.id;
    for (let at = 0; at < candidates.length; at += BATCH) {
      await nextTurn();
      await replayBatch(candidates.slice(at, at + BATCH));
    }
  }
}

/**
 * Sends the items again that the platform has in another form than the profile now has. Nothing is mapped: the ledger
 * has what the source wants. Answers of the API are settled between two pages.
 */
export async function replayForm(
  request: Omit<FormReplay, 'after'>,
  ledger: Pick<ReplayLedger, 'replayForm'>,
): Promise<FormReplayOutcome> {
  const outcome: FormReplayOutcome = { staged: {}, unsupported: {}, open: {} };
  let after: FormReplay['after'] | null = { form: 0, id: 0 };
  while (after !== null) {
    const page: Awaited<ReturnType<ReplayLedger['replayForm']>> = await ledger.replayForm({ ...request, after });
    addTo(outcome.staged, page.staged);
    addTo(outcome.unsupported, page.unsupported);
    addTo(outcome.open, page.open);
    after = page.next;
    await nextTurn();
  }
  return outcome;
}

function addTo(sums: KindCounts, counts: KindCounts): void {
  for (const kind of ITEM_KINDS) {
    const count = counts[kind] ?? 0;
    if (count > 0) sums[kind] = (sums[kind] ?? 0) + count;
  }
}
