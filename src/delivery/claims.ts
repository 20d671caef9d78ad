import { isLedgerFault } from '../domain/faults.ts';
import type { ClaimedRequest, NewClaim } from '../domain/ports/claim.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { Clock } from '../lib/clock.ts';
import type { Admission, Admitted } from './admission/admission.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { DeadLetter } from './dead-letter.ts';
import type { DeliveryWindow } from './delivery-window.ts';
import type { BulkImports } from './imports/bulk-imports.ts';

/** A claimed request, and the admission that it belongs to. */
interface Claimed {
  request: ClaimedRequest;
  from: Admitted;
}

interface ClaimsOptions {
  ledger: DeliveryLedger;
  admission: Pick<Admission, 'end' | 'freeSlot'>;
  health: ApiHealth;
  window: DeliveryWindow;
  bulk: BulkImports;
  deadLetter: DeadLetter;
  clock: Clock;
}

/** If the ledger could not store a claim, the next attempt comes after this time. */
const AGAIN_MS = 1000;

/** Claims the admitted deliveries, and gives back those that cannot be claimed. */
export function createClaims(options: ClaimsOptions) {
  const { ledger, admission, health, window, bulk, deadLetter, clock } = options;
  let trouble: Error | null = null;

  /** Gives back all that an admitted request holds, because it is not sent. */
  function giveBack(admitted: Admitted): void {
    admission.freeSlot(admitted);
    admission.end(admitted);
    bulk.giveBack(admitted.deliveries);
    health.unused(clock.ticks() - admitted.begunAt);
  }

  /**
   * Brings each admitted delivery into its next stage. A bulk import may take fewer deliveries than were admitted; the
   * others are admitted again.
   */
  function sort(admitted: readonly Admitted[], requests: readonly NewClaim[]): Claimed[] {
    const taken = new Set(requests.flatMap(({ members }) => members.map(({ id }) => id)));
    const claimed: Claimed[] = [];
    for (const [list, from] of admitted.entries()) {
      const request = requests.find((one) => one.list === list);
      const others = from.deliveries.filter(({ id }) => !taken.has(id));
      if (request === undefined) {
        giveBack(from);
        window.end(others.map(({ id }) => id));
        continue;
      }
      window.putBack(others);
      window.claim(request.members);
      claimed.push({ request, from });
    }
    return claimed;
  }

  /**
   * Claims each request separately, because claiming them together has thrown. A request that throws alone is
   * dead-lettered.
   */
  async function claimApart(admitted: readonly Admitted[], error: unknown, abort: AbortSignal): Promise<Claimed[]> {
    const [only] = admitted;
    if (admitted.length > 1 || only === undefined) {
      const claimed: Claimed[] = [];
      for (const one of admitted) claimed.push(...(await claim([one], abort)));
      return claimed;
    }
    giveBack(only);
    // It is unknown which member of an import is at fault, so the ledger tries each member alone.
    const unstored = await deadLetter(only.deliveries, error);
    if (unstored !== null) await waitForLedger(unstored, abort);
    window.end(only.deliveries.map(({ id }) => id));
    return [];
  }

  /**
   * Gives everything back, because the ledger cannot be written, and waits. Without the wait the same claim would be
   * tried in a loop.
   */
  async function waitForLedger(error: Error, abort: AbortSignal): Promise<void> {
    trouble = error;
    await clock.sleep(AGAIN_MS, abort);
  }

  /** Claims all these deliveries in one commit, and returns the requests to send now. Never rejects. */
  async function claim(admitted: readonly Admitted[], abort: AbortSignal): Promise<Claimed[]> {
    if (admitted.length === 0) return [];
    let requests: NewClaim[];
    try {
      requests = await ledger.claim(
        admitted.map(({ deliveries, asImport }) => ({
          deliveries: deliveries.map(({ id, revision }) => ({ id, revision })),
          asImport,
        })),
      );
    } catch (error) {
      if (!isLedgerFault(error)) return claimApart(admitted, error, abort);
      for (const one of admitted) giveBack(one);
      window.putBack(admitted.flatMap(({ deliveries }) => deliveries));
      await waitForLedger(error, abort);
      return [];
    }
    trouble = null;
    return sort(admitted, requests);
  }

  return {
    claim,
    giveBack,
    /** Why the last claim failed; null if it did not. */
    trouble: (): Error | null => trouble,
  };
}

export type Claims = ReturnType<typeof createClaims>;
