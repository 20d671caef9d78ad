import {
  accessOf,
  type ListName,
  listShowing,
  type Operation,
  showsInListing,
  unconfirmedPolicy,
} from '../../domain/delivery/operation.ts';
import { hasTrait } from '../../domain/delivery/stored-reason.ts';
import { isLedgerFault } from '../../domain/faults.ts';
import type { Settled, UnconfirmedDelivery } from '../../domain/ports/deliveries.ts';
import type { DeliveryLedger, UnconfirmedLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Emit } from '../../domain/ports/progress.ts';
import type { ListableKind, PlatformReader, Target } from '../../domain/ports/target.ts';
import type { Profile } from '../../domain/profile.ts';
import { type Clock, ticksAt } from '../../lib/clock.ts';
import type { ApiHealth } from '../admission/api-health.ts';
import { suspendedBy } from '../admission/authorization.ts';
import type { RetryBudget } from '../admission/retry-budget.ts';
import type { Echoes } from '../echoes.ts';
import { DECISION_STATES } from '../outcome/decide.ts';
import type { Readable } from '../outcome/decide-context.ts';
import { unreadableReason } from './decide-read-back.ts';
import {
  type CreatePause,
  createAbsence,
  createListReadBack,
  type Decided,
  type ListReadBackOptions,
  LOOKED_UP_MAX,
  settleInSlices,
} from './list-read-back.ts';
import { createListReads } from './list-reads.ts';
import { createUnconfirmedDecisions } from './unconfirmed-decisions.ts';

interface UnconfirmedResolverOptions {
  ledger: Pick<
    UnconfirmedLedger,
    'unconfirmedDeliveries' | 'endRest' | 'unprovenKinds' | 'hasUnbound' | 'endProof' | 'acknowledgedCreates'
  > &
    Pick<DeliveryLedger, 'settle'>;
  target: Pick<Target, 'list'>;
  reader: Pick<PlatformReader, 'publications'>;
  health: Pick<ApiHealth, 'answers' | 'observe' | 'allows' | 'refused' | 'wasOut' | 'takesOnlyReads'>;
  retries: RetryBudget;
  pause: CreatePause;
  bulk: ListReadBackOptions['bulk'];
  echoes: Pick<Echoes, 'has' | 'ready'>;
  /** True if the config says that the platform is empty, so that products and materials are not listed. */
  assumesEmpty: boolean;
  /** True while a source is read or mapped, so that more writes may be staged soon. */
  isStaging: () => boolean;
  profile: Profile;
  clock: Clock;
  random: () => number;
  emit: Emit;
}

/** While only writes fail, one delivery is sent again in each period of this length, because further ones would only wait. */
const TRY_AGAIN_MS = 30_000;

/** The operations whose effects one list shows. The list is read when none of them is due or being sent. */
const RESTING_TOGETHER: readonly (readonly Operation[])[] = [
  ['product.create'],
  ['material.create', 'material.update'],
  ['passport.init', 'passport.publish', 'passport.unpublish'],
];

/** The unconfirmed deliveries, by how each is resolved. */
interface Plan {
  list: Record<ListableKind, UnconfirmedDelivery[]>;
  publications: UnconfirmedDelivery[];
  resend: UnconfirmedDelivery[];
  person: UnconfirmedDelivery[];
}

/** Resolves unconfirmed deliveries: sends them again if that is safe, or reads them back if the API can be read. */
export function createUnconfirmedResolver(options: UnconfirmedResolverOptions) {
  const { ledger, health, echoes, bulk, profile, clock, emit } = options;
  const reads = createListReads(options);
  const decisions = createUnconfirmedDecisions({ ...options, reads, readable });
  const absence = createAbsence({ ledger, lagMs: profile.list.lagMs, clock });
  const readBack = createListReadBack({ ...options, reads, decisions, absence, settle });
  /** When a delivery was sent again last. */
  let sentAt = Number.NEGATIVE_INFINITY;

  /** Stores decisions about deliveries in one call. */
  async function settle(decided: readonly Decided[]): Promise<void> {
    if (decided.length === 0) return;
    const decidedAt = clock.now();
    const settlements = decided.map(({ delivery: { id, revision }, decision }) => ({
      id,
      revision,
      decision,
      decidedAt,
    }));
    try {
      const stored = await ledger.settle([{ claim: null, settlements, keep: false, groupMax: null }]);
      for (const [at, one] of decided.entries()) report(one, stored[at]);
    } catch (error) {
      if (decided.length === 1 || isLedgerFault(error)) throw error;
      await settleSingly(decided);
    }
  }

  /** Stores each decision by itself, so that one which cannot be stored keeps no other back. */
  async function settleSingly(decided: readonly Decided[]): Promise<void> {
    const errors: unknown[] = [];
    for (const one of decided) await settle([one]).catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }

  function report({ delivery, decision }: Decided, stored: Settled | undefined): void {
    const { id, revision, kind, key, operation } = delivery;
    // Another part has settled the delivery meanwhile, and has reported that.
    if (stored?.applied === false) {
      absence.forget(id);
      return;
    }
    const settled = stored?.instead ?? decision;
    if (settled.kind !== 'unconfirmed') absence.forget(id);
    const state = DECISION_STATES[settled.kind];
    const reason = 'reason' in settled ? settled.reason : null;
    emit({
      type: 'settled',
      kind,
      key,
      revision,
      times: null,
      operation,
      state,
      status: null,
      latencyMs: null,
      reason,
      failedAgain: stored?.failedAgain === true,
    });
  }

  /** Whether the list that shows the effect of an operation can be read. */
  function readable(operation: Operation): Readable {
    const isCreate = operation === 'product.create' || operation === 'material.create';
    if (isCreate && options.assumesEmpty) return 'assumed_empty';
    const list = listShowing(operation);
    return list !== null && !health.refused().has(accessOf(list)) && !reads.isUseless(list) ? 'yes' : 'no';
  }

  /** Decides about answered deliveries for which no list can be read. */
  async function decideWithoutList(deliveries: readonly UnconfirmedDelivery[]): Promise<number> {
    await settleInSlices(deliveries, settle, async (delivery) => {
      const decision = decisions.withoutList(delivery);
      if (delivery.reason.code === 'change_proof' && decision.kind === 'delivered') await bulk.tookChange(delivery);
      return decision;
    });
    return deliveries.length;
  }

  /** Leaves deliveries to a person. */
  async function leave(deliveries: readonly UnconfirmedDelivery[]): Promise<number> {
    await settleInSlices(deliveries, settle, ({ reason }) => {
      return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: unreadableReason(reason) };
    });
    return deliveries.length;
  }

  /** An import that may have arrived is sent again with the same members. All of them are settled in one transaction. */
  async function resendImport(members: readonly UnconfirmedDelivery[]): Promise<void> {
    const settlements = decisions.resendImport(members);
    const keep = settlements.every(({ decision }) => decision.kind === 'resend');
    await ledger.settle([{ claim: null, settlements, keep, groupMax: null }]);
  }

  /**
   * Sends deliveries again once the API has answered any request since they were lost. During an outage, a delivery
   * would only use up its attempts.
   */
  async function resend(deliveries: readonly UnconfirmedDelivery[], abort: AbortSignal): Promise<number> {
    if (deliveries.length === 0) return 0;
    const since = deliveries.reduce((latest, delivery) => Math.max(latest, delivery.since), 0);
    if (!(await health.answers(ticksAt(clock, since), abort))) return 0;
    const single = deliveries.filter(({ importId }) => importId === null);
    const imports = Map.groupBy(
      deliveries.filter(({ importId }) => importId !== null),
      ({ importId }) => importId,
    );
    await settleInSlices(single, settle, decisions.resend);
    await eachInSlices([...imports.values()], resendImport);
    return deliveries.length;
  }

  /** Reads a list for these deliveries if the API may be read now and answers. */
  async function readFor(
    list: ListName,
    deliveries: readonly UnconfirmedDelivery[],
    read: () => Promise<void>,
    abort: AbortSignal,
  ): Promise<number> {
    if (deliveries.length === 0 || abort.aborted || !health.allows(accessOf(list))) return 0;
    if (reads.waitMs(list, deliveries.every(isRefused)) > 0 || !(await health.answers(null, abort))) return 0;
    await read();
    return deliveries.length;
  }

  /** An import of changed products that has to prove itself first is looked up before it is sent again. */
  async function planWith(deliveries: readonly UnconfirmedDelivery[]): Promise<Plan> {
    const plan = planFor(deliveries, profile);
    const changed = plan.resend.filter(({ operation }) => operation === 'product.import');
    const imports = Map.groupBy(changed, ({ importId }) => importId);
    for (const [importId, members] of imports) {
      // Members that have left their import are sent in a new one, which is a proof where it has to be.
      if (await bulk.mayRepeat(importId === null ? 1 : members.length)) continue;
      plan.list.product.push(...members);
      plan.resend = plan.resend.filter((one) => !members.includes(one));
    }
    return plan;
  }

  /** While only writes fail, one delivery or one import is sent again at a time. Deliveries that need a read are not affected. */
  function limited(deliveries: UnconfirmedDelivery[]): UnconfirmedDelivery[] {
    if (!health.takesOnlyReads()) return deliveries;
    const isTime = clock.ticks() >= sentAt + TRY_AGAIN_MS;
    const first = isTime ? deliveries.find((delivery) => isSentAgain(delivery, profile)) : undefined;
    const isOfFirst = (delivery: UnconfirmedDelivery): boolean =>
      delivery === first || (delivery.importId !== null && delivery.importId === first?.importId);
    return deliveries.filter((delivery) => !isSentAgain(delivery, profile) || isOfFirst(delivery));
  }

  return {
    readable,
    /** Of the lists whose last read failed, the one that has failed for the longest time; null if there is none. */
    unreadable: () => reads.unreadable(),

    /**
     * Resolves the unconfirmed deliveries whose time has come, unless the API is away.
     *
     * @returns the number of deliveries that it has handled
     */
    async resolve(abort: AbortSignal): Promise<number> {
      await echoes.ready();
      if (!options.isStaging()) for (const operations of RESTING_TOGETHER) await ledger.endRest(operations);
      const suspended = suspendedBy(health.refused().keys(), profile);
      const found = limited(await ledger.unconfirmedDeliveries({ limit: LOOKED_UP_MAX, suspended }));
      const isUnlisted = (delivery: UnconfirmedDelivery): boolean =>
        hasTrait(delivery.reason, 'was_answered') &&
        (readable(delivery.operation) !== 'yes' || decisions.isTakenBetweenReads(delivery));
      const deliveries = found.filter((delivery) => !isUnlisted(delivery));
      const { list, publications, resend: toResend, person } = await planWith(deliveries);
      let handled = await decideWithoutList(found.filter(isUnlisted));
      handled += await leave(person);
      handled += await resend(toResend, abort);
      for (const kind of ['product', 'material'] as const) {
        handled += await readFor(kind, list[kind], () => readBack.items(kind, list[kind], abort), abort);
      }
      const readPassports = (): Promise<void> => readBack.publications(publications, abort);
      handled += await readFor('publications', publications, readPassports, abort);
      if (handled > 0 && deliveries.some((delivery) => isSentAgain(delivery, profile))) sentAt = clock.ticks();
      return handled;
    },
  };
}

export type UnconfirmedResolver = ReturnType<typeof createUnconfirmedResolver>;

/** Groups unconfirmed deliveries by the way in which they are resolved. */
function planFor(deliveries: readonly UnconfirmedDelivery[], profile: Profile): Plan {
  const plan: Plan = { list: { product: [], material: [] }, publications: [], resend: [], person: [] };
  for (const delivery of deliveries) {
    const { kind, operation, reason } = delivery;
    const isReadBack =
      delivery.isImportedCreate || hasTrait(reason, 'needs_reading') || isLastResort(delivery, profile);
    const policy = isReadBack ? 'read_back' : unconfirmedPolicy(operation, profile);
    if (policy === 'read_back' && kind === 'passport') plan.publications.push(delivery);
    else if (policy === 'read_back' && (kind === 'product' || kind === 'material')) plan.list[kind].push(delivery);
    else if (policy === 'resend') plan.resend.push(delivery);
    else plan.person.push(delivery);
  }
  return plan;
}

/** True if the attempts are used up. A listing may still show that one of them took effect. */
function isLastResort({ operation, attempts }: UnconfirmedDelivery, profile: Profile): boolean {
  return showsInListing(operation) && attempts >= profile.retry.attemptsMax;
}

/** False for deliveries that only need a read, and for deliveries that only a person can resolve. */
function isSentAgain({ reason, operation, isImportedCreate }: UnconfirmedDelivery, profile: Profile): boolean {
  return !isImportedCreate && !hasTrait(reason, 'needs_reading') && unconfirmedPolicy(operation, profile) !== 'person';
}

/** True for a refused create. It is not sent again, so the read of the list may wait for more refused creates. */
function isRefused({ reason }: UnconfirmedDelivery): boolean {
  return hasTrait(reason, 'found_before');
}

/** At most this many calls are made at the same time. */
const SLICE = 1_000;

/** Calls `work` for each entry, for the entries of a slice at the same time. Rejects as soon as one call rejects. */
async function eachInSlices<Entry>(entries: readonly Entry[], work: (entry: Entry) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < entries.length; from += SLICE) {
    await Promise.all(entries.slice(from, from + SLICE).map(work));
  }
}
