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

  /** Assigns what was claimed to what was admitted. A bulk import may take fewer than were named; the others wait for the next. */
  function sort(admitted: readonly Admitted[], requests: readonly ClaimedRequest[]): Claimed[] {
    const requestOf = new Map<number, ClaimedRequest>();
    for (const request of requests) for (const { id } of request.members) requestOf.set(id, request);
    const claimed: Claimed[] = [];
    for (const from of admitted) {
      const claimedOne = from.deliveries.find(({ id }) => requestOf.has(id));
      const request = claimedOne && requestOf.get(claimedOne.id);
      if (request === undefined) {
        giveBack(from);
        dispatcher.done(from.deliveries.map(({ id }) => id));
        continue;
      }
      if (from.deliveries.length > 1) queue.putBack(from.deliveries.filter(({ id }) => !requestOf.has(id)));
      dispatcher.claimed(request.members);
      claimed.push({ request, from });
    }
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
    const ids = only.deliveries.map(({ id }) => id);
    // Of the members of an import nobody knows which one is at fault: the ledger has each tried alone.
    const unstored = await deadLetter(ids, error);
    if (unstored !== null) await waitForLedger(unstored, abort);
    dispatcher.done(ids);
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
