import type { Throttled } from '../delivery/admission/api-health.ts';
import { suspendedBy } from '../delivery/admission/authorization.ts';
import {
  type Access,
  accessesOf,
  accessWord,
  isListAccess,
  LIST_ACCESSES,
  type ListName,
  type Scope,
  scopeOf,
} from '../domain/delivery/operation.ts';
import { fault } from '../domain/faults.ts';
import type { WorkOf } from '../domain/ports/deliveries.ts';
import type { ListableKind } from '../domain/ports/target.ts';
import { FAULT_CASES } from '../domain/words/faults.ts';
import { UNUSED_IMPORTS } from '../domain/words/holds.ts';
import { type Fault, sentence } from '../lib/errors.ts';
import type { Runtime } from './runtime.ts';
import { describeFailingWrites } from './watches.ts';

const CASES = FAULT_CASES['api.unreachable'];

interface WaitLimit {
  /** How long the API may be out of reach. */
  waitMs: number;
  /** When the wait of this sync began, by `Clock.ticks`. A daemon may have lost the API long before. */
  since: number;
  /** The sync waits for the deliveries of these sources or products; if undefined, for all deliveries. */
  of: WorkOf | undefined;
  abort: AbortSignal;
  /** The number of deliveries in flight. */
  outstanding: number;
  /** The present time, by `Clock.ticks`. */
  now: number;
}

/**
 * The fault that ends a sync because the API has blocked its work for longer than `waitMs`. Null while the sync
 * continues to wait.
 */
export async function awayFault(runtime: Runtime, limit: WaitLimit): Promise<Fault | null> {
  const { waitMs, since, now } = limit;
  const { baseUrl } = runtime.config.target;
  const unreachable = runtime.api.unreachableSince();
  if (unreachable !== null && now - Math.max(unreachable, since) >= waitMs) {
    // Only requests show that the API is away. The delivery that failed may be due later than the sync waits, or a 503 may have
    // asked for a wait, so that nothing was sent since.
    if (!(await runtime.api.isAway(Math.max(unreachable, since) + waitMs, limit.abort))) return null;
    const forAs = `for ${seconds(waitMs)}`;
    const writes = runtime.api.failsAtWrites();
    if (writes !== null) {
      const message = `The API at ${baseUrl} can be read. ${describeFailingWrites(writes)}`;
      return fault('api.unreachable', message, { path: 'target.baseUrl', suggestion: CASES.writes.cure });
    }
    const message = `The API at ${baseUrl} has accepted no request ${forAs}.`;
    return fault('api.unreachable', message, { path: 'target.baseUrl', suggestion: CASES.away.cure });
  }
  const throttled = runtime.api.throttled();
  // While the API asks to wait, a list cannot be read either, so the wait is reported first.
  return throttled === null ? unreadableFault(runtime, limit) : throttledFault(runtime, throttled, limit);
}

/**
 * The wait of the API may be almost over. So the sync still waits for a probe that is due within `dueInMs`, and then up
 * to `answerMs` for the answer.
 */
const LAST_QUESTION = { dueInMs: 250, answerMs: 5000 };

/** The fault if the API asks for a longer wait than `waitMs`. */
function throttledFault(
  { config }: Pick<Runtime, 'config'>,
  { since: throttledSince, askAgainInMs, message, wait }: Throttled,
  { waitMs, since: waitedSince, now }: WaitLimit,
): Fault | null {
  const since = Math.max(throttledSince, waitedSince);
  if (now - since < waitMs) return null;
  const { dueInMs, answerMs } = LAST_QUESTION;
  if (askAgainInMs <= dueInMs && now - since < waitMs + answerMs) return null;
  const end = wait?.until ?? null;
  const until = end === null ? '' : ` until ${new Date(end).toISOString()}`;
  const asked = `has asked to wait${until} (429) and has accepted no request for ${seconds(now - since)}`;
  return fault('api.unreachable', `The API at ${config.target.baseUrl} ${asked}: ${message}`, {
    path: 'target.baseUrl',
    suggestion: CASES.throttled.cure,
  });
}

/**
 * The fault for deliveries that the API cannot accept (503) while it accepts others. They stay due, and the next process that
 * runs tries them again.
 *
 * @param options.before counts deliveries that have failed since before this time of the wall clock
 * @param options.of the sources or products whose deliveries count; undefined for all deliveries
 */
export async function leftAwayFault(
  { api, ledger, config, unreadable, proving }: Runtime,
  { before, of }: { before: number; of: WorkOf | undefined },
): Promise<Fault | null> {
  // Deliveries that wait for an unreadable list do not count here.
  const isUnreadable = unreadable() !== null;
  const refused = [...api.refused().keys(), ...(isUnreadable ? LIST_ACCESSES : [])];
  const suspended = suspendedBy(refused, config.profile, proving());
  const left = await ledger.leftAway({ before, suspended, of });
  if (left === null) return null;
  const { kind, key, reason, dueAt } = left.first;
  const others = left.count === 1 ? '' : ` and ${left.count - 1} more`;
  const message = `The API at ${config.target.baseUrl} answers, but cannot accept the ${kind.replace('_', ' ')} ${key}${others}: ${reason.message}`;
  const path = { path: 'target.baseUrl' };
  const at = new Date(dueAt).toISOString();
  return fault('api.unreachable', message, {
    ...path,
    suggestion: `${CASES.items.cure} dpp-sync sends the item again at ${at}.`,
  });
}

/** The fault for deliveries that wait for an unreadable list, if nothing else is left to do. */
async function unreadableFault(
  runtime: Runtime,
  { waitMs, since, of, outstanding, now }: WaitLimit,
): Promise<Fault | null> {
  const { ledger, config, passports } = runtime;
  const unreadable = runtime.unreadable();
  if (unreadable === null || outstanding > 0 || now - Math.max(unreadable.since, since) < waitMs) return null;
  // The changed products that wait for the proof of an import wait for the list of that proof.
  const readBack = suspendedBy(LIST_ACCESSES, config.profile, runtime.proving());
  const lookedUp = { ...readBack, unconfirmed: { ...readBack.unconfirmed, answered: true as const } };
  if ((await ledger.nextDueAt({ suspended: lookedUp, of })) !== null || (await passports.evaluate()) > 0) return null;
  const { due, unconfirmed } = await ledger.countSuspended(lookedUp);
  const suspended = (await runtime.reads.suspended()).reduce((sum, { creates }) => sum + creates, 0);
  const wait = waitWords({ unconfirmed, due, creates: suspended });
  if (unreadable.local) return fault('machine.limit', `Nothing can be read: ${unreadable.reason} ${wait}`);
  const message = `The API's list of ${LISTS[unreadable.what]} could not be read for ${seconds(waitMs)}: ${unreadable.reason} ${wait}`;
  return fault('api.unreachable', message, {
    path: 'target.baseUrl',
    suggestion: unconfirmed > 0 ? CASES.unconfirmed.cure : CASES.list.cure,
  });
}

function waitWords({ unconfirmed, due, creates }: { unconfirmed: number; due: number; creates: number }): string {
  const deliveries = (count: number) => (count === 1 ? '1 delivery waits' : `${count} deliveries wait`);
  const waiting =
    unconfirmed === 0 ? [] : [`${deliveries(unconfirmed)} to be looked up, because dpp-sync cannot read the list.`];
  const proof = due === 0 ? [] : [`${deliveries(due)} until the list has shown what an import has done.`];
  const suspended = creates === 0 ? [] : [`${deliveries(creates)} for the list, so that no item is created twice.`];
  return [...waiting, ...proof, ...suspended].join(' ');
}

const LISTS: Record<ListName, string> = { product: 'products', material: 'materials', publications: 'publications' };

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}

/** The fault for deliveries that were not sent because the key lacks their scope; null if there are none. */
export async function refusedScopeFault(runtime: Runtime): Promise<Fault | null> {
  const { api, config } = runtime;
  const { target } = config;
  const lacking: Scope[] = [];
  const messages: string[] = [];
  for (const [scope, { message }] of api.refusedScopes()) {
    const left = await leftOf(runtime, accessesOf(scope));
    if (left === '') continue;
    lacking.push(scope);
    const lists =
      scope === 'read'
        ? ` It has refused ${[...api.refused().keys()].filter(isListAccess).map(accessWord).join(' and ')}.`
        : '';
    messages.push(`The API refuses the scope ${scope} to the key: ${sentence(message)}${lists} ${left}.`);
  }
  if (lacking.length === 0) return null;
  const onlyPublish = lacking.every((scope) => scope === 'publish');
  const ofItsOwn = onlyPublish && target.publishKey === null ? ', or a separate key in target.publishKey,' : '';
  return fault('api.key', messages.join(' '), {
    path: onlyPublish && target.publishKey !== null ? 'target.publishKey' : 'target.apiKey',
    suggestion: `Everything else that was read was synced. \`dpp-sync check\` shows the scopes of the key. Use a key with the scope ${lacking.join(' and ')}${ofItsOwn} and run the sync again.`,
  });
}

/** A sentence for each operation that the API refuses, although it grants the scope to other operations. */
export async function refusedOperationWarnings(runtime: Runtime): Promise<string[]> {
  const { api } = runtime;
  const lacking = api.refusedScopes();
  const warnings: string[] = [];
  for (const [access, { message }] of api.refused()) {
    if (lacking.has(scopeOf(access))) continue;
    const left = await leftOf(runtime, [access]);
    warnings.push(operationSentence(access, message) + (left === '' ? '' : ` ${left}.`));
  }
  return warnings;
}

/** Says which operation the API refuses, and what the profile can do about it. */
export function operationSentence(access: Access, message: string): string {
  const refused = `The API refuses ${accessWord(access)} to the key, and grants other ${isListAccess(access) ? 'reads' : 'operations'}: ${sentence(message)}`;
  if (access !== 'product.import') return refused;
  return `${refused} ${UNUSED_IMPORTS.refused.title} ${UNUSED_IMPORTS.refused.cure}`;
}

/** The lists that creates of a kind may need. A product is bound together with its publication. */
const LISTS_FOR_CREATES: Record<ListableKind, readonly Access[]> = {
  product: ['product.list', 'publication.list'],
  material: ['material.list'],
};

async function leftOf({ ledger, reads, api, config, proving }: Runtime, accesses: readonly Access[]): Promise<string> {
  const refused = accesses.filter((access) => api.refused().has(access));
  const paused = refused.includes('product.list') ? proving() : [];
  const { due, unconfirmed } = await ledger.countSuspended(suspendedBy(refused, config.profile, paused));
  const unlisted = (await reads.suspended())
    .filter(({ kind }) => refused.some((access) => LISTS_FOR_CREATES[kind].includes(access)))
    .reduce((sum, { creates }) => sum + creates, 0);
  const sent = due === 0 ? [] : [`${due} ${due === 1 ? 'delivery is' : 'deliveries are'} left to be sent`];
  const listed =
    unlisted === 0
      ? []
      : [
          `${unlisted} ${unlisted === 1 ? 'new item waits' : 'new items wait'} until a list of the platform can be read`,
        ];
  const lookedUp =
    unconfirmed === 0
      ? []
      : [`${unconfirmed} ${unconfirmed === 1 ? 'delivery is' : 'deliveries are'} left to be looked up`];
  return [...sent, ...listed, ...lookedUp].join(', and ');
}
