import type { Reason } from '../domain/delivery.ts';
import type { DoubtfulDelivery, Ledger, Verdict } from '../domain/ports/ledger.ts';
import type { Emit } from '../domain/ports/progress.ts';
import type { ListableKind, RemoteItem, Target } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import { doubtPolicy, judgeResend } from './judge.ts';
import { judgeReadBack, UNCLEAR } from './judge-import.ts';
import type { TargetGate } from './target-gate.ts';

export interface DoubtsOptions {
  ledger: Ledger;
  target: Target;
  gate: TargetGate;
  profile: Profile;
  clock: Clock;
  random: () => number;
  emit: Emit;
}

/** Settles doubts: by sending again where that is safe, by reading back where the API can be read. */
export interface Doubts {
  /** Takes on what may be looked at by now. Gives the number of doubts that were looked at. */
  resolve(abort: AbortSignal): Promise<number>;
}

/** How many doubts one listing serves. */
const BATCH = 10_000;
/** Of items that are listed under one natural key, which is to be unique, this many are looked at. */
const SAME_KEY_MAX = 10;
/** After a listing that could not be completed. */
const LOOK_AGAIN_MS = 10_000;

export function createDoubts(options: DoubtsOptions): Doubts {
  const { ledger, target, gate, profile, clock, random, emit } = options;

  const context = ({ operation, attempts }: DoubtfulDelivery) => ({
    operation,
    attempts,
    profile,
    now: clock.now(),
    random: random(),
  });

  async function settle(delivery: DoubtfulDelivery, verdict: Verdict): Promise<void> {
    await ledger.settle({ deliveryId: delivery.id, verdict });
  }

  /**
   * Absence is proven only by a complete listing that began after the settling delay, which is why a doubt comes here no
   * earlier. One listing serves all doubts of its kind.
   */
  async function readBack(kind: ListableKind, doubts: readonly DoubtfulDelivery[], abort: AbortSignal): Promise<void> {
    const wanted = new Map<string, RemoteItem[]>();
    for (const { naturalKey } of doubts) if (naturalKey !== null) wanted.set(naturalKey, []);
    const listing = await target.list(
      kind,
      (items) => {
        for (const item of items) {
          const found = item.naturalKey === null ? undefined : wanted.get(item.naturalKey);
          if (found && found.length < SAME_KEY_MAX) found.push(item);
        }
      },
      abort,
    );
    emit({
      type: 'request',
      operation: 'list',
      outcome: listing.complete ? 'accepted' : listing.outcome.kind,
      retry: false,
    });
    if (!listing.complete) gate.observe(listing.outcome);
    await Promise.all(
      doubts.map((delivery) => {
        const found = delivery.naturalKey === null ? [] : (wanted.get(delivery.naturalKey) ?? []);
        return settle(delivery, readBackVerdict(delivery, found, listing.complete));
      }),
    );
  }

  function readBackVerdict(delivery: DoubtfulDelivery, found: readonly RemoteItem[], complete: boolean): Verdict {
    const { reason, operation, sent } = delivery;
    if (sent !== null && complete) return judgeReadBack({ ...delivery, sent }, found, context(delivery));
    const remoteId = sent === null ? (found.at(-1)?.remoteId ?? null) : null;
    const existed = reason.code === 'exists';
    if (remoteId !== null) return { kind: 'delivered', remoteId, contentKnown: !existed, by: 'read_back' };
    if (!complete) return { kind: 'doubt', nextLookAt: clock.now() + LOOK_AGAIN_MS, spend: false, reason };
    if (existed) {
      const message = `The API says that this ${operation.split('.')[0]} exists already, but its listing does not show it to this key: ${reason.message}`;
      return { kind: 'rejected', reason: { ...reason, message } };
    }
    return judgeResend(context(delivery), absent(reason), true);
  }

  /** An import that may have arrived goes out again as it is: the doubts of all its members are settled at once. */
  async function resendImport(members: readonly DoubtfulDelivery[]): Promise<void> {
    const settlements = members.map((delivery) => ({
      deliveryId: delivery.id,
      verdict: judgeResend(context(delivery), delivery.reason, false),
    }));
    const keep = settlements.every(({ verdict }) => verdict.kind === 'resend');
    await ledger.settleImport({ settlements, keep, groupMax: null });
  }

  return {
    async resolve(abort) {
      const doubts = await ledger.doubtfulDeliveries({ limit: BATCH });
      const toList: Record<ListableKind, DoubtfulDelivery[]> = { product: [], material: [] };
      const imports = new Map<number, DoubtfulDelivery[]>();
      const settled: Promise<void>[] = [];
      for (const delivery of doubts) {
        const { kind, operation, reason, importId } = delivery;
        const byListing =
          reason.code === 'exists' || reason.code === UNCLEAR || doubtPolicy(operation, profile) === 'read_back';
        if (byListing && kind !== 'bom_item') toList[kind].push(delivery);
        else if (importId !== null && doubtPolicy(operation, profile) === 'resend') {
          const members = imports.get(importId) ?? [];
          members.push(delivery);
          imports.set(importId, members);
        } else if (doubtPolicy(operation, profile) === 'resend')
          settled.push(settle(delivery, judgeResend(context(delivery), reason, false)));
        else
          settled.push(settle(delivery, { kind: 'doubt', nextLookAt: null, spend: false, reason: unreadable(reason) }));
      }
      for (const members of imports.values()) settled.push(resendImport(members));
      await Promise.all(settled);
      for (const kind of ['product', 'material'] as const) {
        if (toList[kind].length > 0 && gate.state().open && !abort.aborted) await readBack(kind, toList[kind], abort);
      }
      return doubts.length;
    },
  };
}

function absent(reason: Reason): Reason {
  return { ...reason, message: `${reason.message} A complete listing shows that it did not arrive.` };
}

function unreadable(reason: Reason): Reason {
  const message = `${reason.message} The API cannot be asked whether it arrived, and sending it again could double it.`;
  return { ...reason, message: reason.message.endsWith('could double it.') ? reason.message : message };
}
