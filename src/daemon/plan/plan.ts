// Says what a sync would do. The sync is rehearsed on a private copy of the ledger: the same pulls, mappings and statements of the
// ledger run as in a sync, and every write counts as accepted, so that what follows from it is planned too. The platform is not
// asked, nothing is acknowledged to the sources, and the copy is removed.

import { inReadingOrder } from '../../config/loaded-config.ts';
import { fewestRequests } from '../../delivery/imports/import-size.ts';
import { createRecheck } from '../../delivery/recheck.ts';
import { IMPORT_USES } from '../../domain/delivery/import-proof.ts';
import { OPERATIONS } from '../../domain/delivery/operation.ts';
import { fault, isLedgerFault } from '../../domain/faults.ts';
import { type ItemRef, SUBJECT_KINDS } from '../../domain/item.ts';
import type { PlannedAction, PlannedItem } from '../../domain/plan.ts';
import type { IntendedWrite, SuspendedWork } from '../../domain/ports/deliveries.ts';
import type { LedgerStanding } from '../../domain/ports/ledger/ledger-standing.ts';
import type { StreamAccount } from '../../domain/ports/ledger/ledger-views.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { messageAndCureOf } from '../../lib/errors.ts';
import { standingAsked } from '../../observe/standing.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import { createAcceptance } from './acceptance.ts';
import { basisOf } from './basis.ts';
import { createWriteSum, type PlanBasis } from './plan-file.ts';
import type { Recording } from './recording.ts';
import { openRehearsal, type Rehearsal, type RehearsalTools } from './rehearsal.ts';

export interface PlanRequest {
  config: RuntimeConfig;
  /** The ids of the sources; all of them if empty. */
  sources: readonly string[];
  /**
   * `sync`: what the next sync would do. `config`: what this config would change in the stored rows, compared with what they are
   * now. Then no source is read. `run`: what a run of the sources would change, besides what is due before it.
   */
  of: 'sync' | 'config' | 'run';
}

export interface PlanTools extends RehearsalTools {
  /** Gets the planned items, some hundred at once. The plan continues when the promise is fulfilled. */
  onItems: (items: readonly PlannedItem[]) => Promise<void>;
  /** Gets the rows that are read. */
  recording: Recording;
}

export interface PlanSummary {
  /** How many items have which action, by kind. */
  counts: Partial<Record<PlannedAction, Partial<Record<PlannedItem['kind'], number>>>>;
  runs: StreamAccount[];
  /** The sources that could not be read, with the reason. What they would change is not in the plan. */
  failed: readonly { source: string; error: string }[];
  /** How many writes have no answer, and are looked up at the platform by a sync. What follows from them is not in the plan. */
  unconfirmed: number;
  /** The ledger as it would be. */
  standing: Pick<LedgerStanding, 'guarded' | 'missing' | 'quarantined'>;
  /** About how many requests the sync would send, besides the lists that it reads first. */
  requests: number;
  /** The lists that a sync reads before it creates items of these kinds. Their length is not known. */
  lists: readonly ListableKind[];
  /** What the plan depends on besides the ledger. */
  basis: PlanBasis;
  /** The number of writes, and a digest of all of them in any order. */
  writes: { count: number; digest: string };
}

const PAGE = 500;
/** Unconfirmed writes stay as they are: only the platform knows what became of them. */
const UNCONFIRMED: SuspendedWork = {
  operations: [],
  unconfirmed: { operations: OPERATIONS, kinds: SUBJECT_KINDS, reasons: [], answered: true },
};

/**
 * Plans a sync, or the effect of another config.
 *
 * @throws Fault of the ledger or the config, or `interrupted`. A source that cannot be read is in `failed`
 */
export async function plan(request: PlanRequest, tools: PlanTools, abort: AbortSignal): Promise<PlanSummary> {
  const { config } = request;
  const sources = request.sources.length === 0 ? config.sources.map(({ id }) => id) : [...request.sources];
  const rehearsal = await openRehearsal(config, tools, tools.recording);
  const writes = createWriteSum();
  try {
    const counts: PlanSummary['counts'] = {};
    const report = async (items: readonly PlannedItem[]): Promise<void> => {
      for (const { action, kind } of items) {
        const ofAction = (counts[action] ??= {});
        ofAction[kind] = (ofAction[kind] ?? 0) + 1;
      }
      for (const item of items) writes.add(item);
      if (items.length > 0) await tools.onItems(items);
    };
    const acceptance = createAcceptance(rehearsal, { suspended: UNCONFIRMED, page: PAGE });
    if (request.of === 'sync') await stageRechecks(rehearsal);
    // What is due anyway is no effect of the config or the run.
    else {
      await rehearsal.mapped(abort);
      const evaluates = request.of === 'run' && tools.newPolicy !== true;
      await acceptance.acceptAll(async () => undefined, abort, { evaluates });
    }
    const before = request.of === 'sync' ? NOTHING_LEFT : await leftNow(rehearsal);
    if (request.of === 'config') await rehearsal.mapAgain(sources, abort);
    const read =
      request.of === 'config'
        ? { runs: [], failed: [] }
        : await pullAll(rehearsal, inReadingOrder(config, sources), abort);
    await rehearsal.mapped(abort);
    const imported = await importRequests(rehearsal, config);
    const sent = await acceptance.acceptAll(report, abort);
    // A part of a plan would look like a whole one.
    if (abort.aborted) throw INTERRUPTED;
    const unconfirmed = await reportLeft(rehearsal, { sources, before }, report);
    const standing = await rehearsal.reads.standing(standingAsked(config, sources));
    return {
      counts,
      ...read,
      unconfirmed,
      standing,
      requests: sent.alone + imported,
      lists: [...sent.lists],
      basis: await basisOf(rehearsal, config, tools.recording),
      writes: writes.writes(),
    };
  } finally {
    await rehearsal.close();
  }
}

const INTERRUPTED = fault('interrupted', 'The plan was stopped before it was done.', {
  suggestion: 'Nothing has changed: run it again.',
});

/** Stages the blocked deliveries whose time has come, as a sync does first. */
async function stageRechecks({ ledger, clock }: Rehearsal): Promise<void> {
  const recheck = createRecheck({ ledger, now: () => clock.ticks() });
  do await recheck.stageNext();
  while (recheck.hasMore());
}

async function pullAll(
  rehearsal: Rehearsal,
  sources: readonly string[],
  abort: AbortSignal,
): Promise<Pick<PlanSummary, 'runs' | 'failed'>> {
  const runs: StreamAccount[] = [];
  const failed: PlanSummary['failed'][number][] = [];
  for (const source of sources) {
    if (abort.aborted) break;
    try {
      const { runId } = await rehearsal.pull(source, abort);
      runs.push(...((await rehearsal.reads.run(runId))?.streams ?? []));
    } catch (error) {
      // Without a ledger that takes rows, nothing can be planned.
      if (isLedgerFault(error)) throw error;
      failed.push({ source, error: messageAndCureOf(error) });
    }
  }
  return { runs, failed };
}

/** About how many requests the new and the changed products need, as a sync would send them. */
async function importRequests({ ledger, clock }: Rehearsal, { profile }: RuntimeConfig): Promise<number> {
  const proofs = await ledger.importProofs();
  let requests = 0;
  for (const use of IMPORT_USES) {
    const gain = await ledger.importGain({ use, dueMax: Number.MAX_SAFE_INTEGER });
    const sizeMax = use === 'creates' && profile.imports.creates === 'off' ? 1 : profile.imports.membersMax;
    requests += fewestRequests(gain, { proof: proofs[use], sizeMax, list: profile.list, now: clock.now() }).requests;
  }
  return requests;
}

/** The states of items that are not sent, by the id of the item. */
type LeftStates = ReadonlyMap<number, string>;
const NOTHING_LEFT: LeftStates = new Map();

/** The items that are not sent, page by page: first those that wait for other items. */
async function* leftPages({ ledger }: Rehearsal) {
  for (const which of ['waiting', 'stuck'] as const) {
    for (let afterId = 0; ; ) {
      const items = await ledger.leftItems({ of: which, afterId, limit: PAGE });
      yield { which, items };
      const last = items.at(-1);
      if (last === undefined || items.length < PAGE) break;
      afterId = last.id;
    }
  }
}

async function leftNow(rehearsal: Rehearsal): Promise<LeftStates> {
  const states = new Map<number, string>();
  for await (const { items } of leftPages(rehearsal)) for (const { id, state } of items) states.set(id, state);
  return states;
}

/**
 * Reports the items that a sync would leave as they are, with the reason. Returns how many writes it would look up.
 *
 * @param before the items that were left before what is planned; they are not reported again
 */
async function reportLeft(
  rehearsal: Rehearsal,
  { sources, before }: { sources: readonly string[]; before: LeftStates },
  report: (items: readonly PlannedItem[]) => Promise<void>,
): Promise<number> {
  let unconfirmed = 0;
  for await (const { which, items } of leftPages(rehearsal)) {
    unconfirmed += items.filter(({ state, dueAt }) => state === 'in_doubt' && dueAt > 0).length;
    const selected = items.filter(({ id, source, state }) => sources.includes(source) && before.get(id) !== state);
    const ids = selected.map(({ id }) => id);
    const waiting = which === 'waiting' ? await rehearsal.ledger.intendedWrites(ids) : null;
    await report(
      selected.map(({ id, kind, key, naturalKey, source, state, reason }) => ({
        action: 'blocked',
        kind,
        key,
        naturalKey,
        source,
        fields: {},
        state,
        reason,
        ...(waiting === null ? {} : { waitsFor: undelivered(waiting.get(id)) }),
      })),
    );
  }
  return unconfirmed;
}

/** The items that a write names and that have no id at the platform yet. */
const undelivered = (write: IntendedWrite | undefined): ItemRef[] =>
  (write?.refs ?? []).filter(({ remoteId }) => remoteId === null).map(({ role, kind, key }) => ({ role, kind, key }));
