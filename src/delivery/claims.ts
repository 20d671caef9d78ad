import { isLedgerFault } from '../domain/faults.ts';
import type { ClaimedRequest } from '../domain/ports/claim.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Clock } from '../lib/clock.ts';
import type { Admitted } from './admission/admission.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { DeadLetter } from './dead-letter.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { ReceivedQueue } from './received-queue.ts';

/** A request that was claimed, and as what it was admitted. */
export interface Claimed {
  request: ClaimedRequest;
  from: Admitted;
}

/** Claims what was admitted, and gives back what cannot be claimed. */
export interface Claims {
  /** Claims all of it in one commit; never rejects. Gives what is to be sent now. */
  claim(admitted: readonly Admitted[], abort: AbortSignal): Promise<Claimed[]>;
  /** An admitted request is not sent. */
  giveBack(admitted: Admitted): void;
  /** Why the last claim failed; null where it did not. */
  trouble(): Error | null;
}

export interface ClaimsOptions {
  ledger: Pick<Ledger, 'claim'>;
  queue: ReceivedQueue;
  health: Pick<ApiHealth, 'unused'>;
  dispatcher: Pick<Dispatcher, 'claimed' | 'done'>;
  deadLetter: DeadLetter;
  clock: Clock;
}

/** How soon a claim that the ledger could not store is tried again. */
const AGAIN_MS = 1000;

export function createClaims(options: ClaimsOptions): Claims {
  const { ledger, queue, health, dispatcher, deadLetter, clock } = options;
  let trouble: Error | null = null;

  function giveBack({ slot, endProbe }: Admitted): void {
    slot.free();
    endProbe();
    health.unused(clock.ticks() - slot.begunAt);
  }

  /** Sorts what was claimed by what was admitted. A bulk import may take fewer than were named; the others wait for the next. */
  function sort(admitted: readonly Admitted[], requests: readonly ClaimedRequest[]): Claimed[] {
    const assigned = assignRequests(admitted, requests);
    const claimedIds = new Set(requests.flatMap(({ members }) => members.map(({ id }) => id)));
    const claimed: Claimed[] = [];
    for (const from of admitted) {
      const request = assigned.get(from);
      const others = from.deliveries.filter(({ id }) => !claimedIds.has(id));
      if (request === undefined) {
        giveBack(from);
        dispatcher.done(others.map(({ id }) => id));
        continue;
      }
      queue.putBack(others);
      dispatcher.claimed(request.members);
      claimed.push({ request, from });
    }
    // An import that is kept brings members with it that nobody has named: they must not be sent a second time.
    queue.removeAll(claimedIds);
    return claimed;
  }

  /** One that throws is dead-lettered, and the others are claimed without it. */
  async function claimApart(admitted: readonly Admitted[], error: unknown, abort: AbortSignal): Promise<Claimed[]> {
    const [only] = admitted;
    if (admitted.length > 1 || only === undefined) {
      const claimed: Claimed[] = [];
      for (const one of admitted) claimed.push(...(await claim([one], abort)));
      return claimed;
    }
    giveBack(only);
    // Of the members of an import nobody knows which one is at fault: the ledger has each tried alone.
    const unstored = await deadLetter(only.deliveries, error);
    if (unstored !== null) await waitForLedger(unstored, abort);
    dispatcher.done(only.deliveries.map(({ id }) => id));
    return [];
  }

  /** What cannot be claimed for the ledger's sake is as due as before. The pause keeps it from going round in circles. */
  async function waitForLedger(error: Error, abort: AbortSignal): Promise<void> {
    trouble = error;
    await clock.sleep(AGAIN_MS, abort);
  }

  async function claim(admitted: readonly Admitted[], abort: AbortSignal): Promise<Claimed[]> {
    if (admitted.length === 0) return [];
    try {
      const names = admitted.map(({ deliveries }) => deliveries.map(({ id, revision }) => ({ id, revision })));
      const requests = await ledger.claim(names);
      trouble = null;
      return sort(admitted, requests);
    } catch (error) {
      if (!isLedgerFault(error)) return claimApart(admitted, error, abort);
      for (const one of admitted) giveBack(one);
      queue.putBack(admitted.flatMap(({ deliveries }) => deliveries));
      await waitForLedger(error, abort);
      return [];
    }
  }

  return { claim, giveBack, trouble: () => trouble };
}

/**
 * Gives each request to one of the lists that were admitted. An import that is kept may hold members which another list names,
 * so the requests that lie within one list are given out first; for the others any list of their operation serves.
 */
function assignRequests(
  admitted: readonly Admitted[],
  requests: readonly ClaimedRequest[],
): Map<Admitted, ClaimedRequest> {
  const left = new Set(requests);
  const requestOf = new Map(requests.flatMap((request) => request.members.map(({ id }) => [id, request] as const)));
  const assigned = new Map<Admitted, ClaimedRequest>();
  for (const from of admitted) {
    const named = new Set(from.deliveries.map(({ id }) => id));
    const found = from.deliveries.flatMap(({ id }) => requestOf.get(id) ?? []);
    const own = found.find((one) => left.has(one) && one.members.every(({ id }) => named.has(id)));
    if (own === undefined) continue;
    assigned.set(from, own);
    left.delete(own);
  }
  for (const request of left) {
    const from = admitted.find((one) => !assigned.has(one) && one.deliveries[0].operation === request.operation);
    if (from !== undefined) assigned.set(from, request);
  }
  return assigned;
}
