import type { Operation } from '../domain/delivery.ts';
import type { DueDelivery, SuspendedWork } from '../domain/ports/due.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Queues, WakeUpJob } from '../domain/ports/queues.ts';
import type { Breaker } from './admission/breaker.ts';
import { dueJob } from './delivery-jobs.ts';

/** How many deliveries may have a doorbell in the queue or an attempt under way at once (I9): a million due deliveries never mean a million jobs. */
const DEPTH_MAX = 2000;
/** How many deliveries one doorbell carries. */
const BELL_SIZE = 100;
/** The queue is topped up once it has room for so many, so that doorbells are full while there is much to do. */
const ROOM_MIN = 500;

/** So many that were asked for by hand are under way at once without a doorbell. */
const BY_HAND_MAX = 64;

/** So often a sample is drawn until it is one that is not under way and has not failed. */
const DRAWS = 20;

/** What an attempt of a delivery has to know of it. */
export interface Heard {
  revision: number;
  operation: Operation;
  /** A person may be waiting for it. */
  urgent: boolean;
}

/**
 * Keeps the `deliver` queue topped up from the ledger. What it knows of the queue it keeps in memory only: after a restart
 * it rings everything anew, and a doorbell that comes twice finds nothing to claim.
 */
export interface Feeder {
  /** Rings for due deliveries until the queue is full or nothing is left. Gives the number of deliveries it rang for. */
  fill(): Promise<number>;
  /**
   * Due deliveries that were asked for by hand, to be attempted at once: a doorbell would be heard after all that were rung
   * before, which may be thousands at a few per second.
   */
  byHand(): Promise<number[]>;
  /**
   * Where many writes in a row have failed, a due delivery from anywhere, to be attempted at once: those that are at fault
   * stand together. One at a time.
   */
  sample(): Promise<number[]>;
  /**
   * The doorbell of this delivery was heard, and an attempt is under way. Null where nothing was rung for it that is still
   * awaited: it is rung for anew where it is due.
   */
  heard(deliveryId: number): Heard | null;
  /** The attempt is over, or there is none after all: it is rung for again where it is still due. */
  done(deliveryIds: readonly number[]): void;
  /** Deliveries that have a doorbell in the queue, or an attempt under way. */
  outstanding(): number;
  /** Deliveries whose doorbell was not heard yet. */
  unheard(): number;
  /** Forgets what was rung and not heard, since the queue has lost it. */
  lost(): void;
}

export function createFeeder(options: {
  ledger: Ledger;
  queues: Queues;
  /** What is not rung for: it would be heard, held and rung in circles. */
  held: () => SuspendedWork;
  breaker: Pick<Breaker, 'needsSample' | 'isSuspect'>;
  /** Numbers in [0, 1). */
  random: () => number;
}): Feeder {
  const { ledger, queues, held, breaker, random } = options;
  const rung = new Map<number, Pick<DueDelivery, 'revision' | 'operation'>>();
  const inHand = new Set<number>();
  const urgent = new Set<number>();
  const outstanding = (): number => rung.size + inHand.size;
  let afterId = 0;
  let sampled: number | null = null;

  function takeAtOnce({ id, revision, operation }: DueDelivery): number {
    rung.set(id, { revision, operation });
    urgent.add(id);
    return id;
  }

  async function ringFor(due: readonly DueDelivery[]): Promise<void> {
    const bells: WakeUpJob[] = [];
    for (let at = 0; at < due.length; at += BELL_SIZE) bells.push(dueJob(due.slice(at, at + BELL_SIZE)));
    for (const { id, revision, operation } of due) rung.set(id, { revision, operation });
    try {
      await queues.enqueue('deliver', bells);
    } catch (error) {
      for (const { id } of due) rung.delete(id);
      throw error;
    }
  }

  return {
    async fill() {
      let count = 0;
      while (DEPTH_MAX - outstanding() >= ROOM_MIN) {
        const limit = DEPTH_MAX - outstanding();
        const due = await ledger.dueDeliveries({ afterId, limit, held: held() });
        const fresh = due.filter(({ id }) => !rung.has(id) && !inHand.has(id));
        if (fresh.length > 0) await ringFor(fresh);
        count += fresh.length;
        afterId = due.at(-1)?.id ?? 0;
        // At the end the next fill starts over: a retry that has become due has a low id.
        if (due.length < limit) {
          afterId = 0;
          break;
        }
      }
      return count;
    },
    async byHand() {
      const room = BY_HAND_MAX - urgent.size;
      if (room <= 0) return [];
      const due = await ledger.dueByHand({ limit: 2 * BY_HAND_MAX, held: held() });
      const fresh = due.filter(({ id }) => !inHand.has(id)).slice(0, room);
      return fresh.map(takeAtOnce);
    },
    async sample() {
      if (!breaker.needsSample() || (sampled !== null && inHand.has(sampled))) return [];
      for (let draw = 0; draw < DRAWS; draw += 1) {
        const one = await ledger.someDueDelivery({ place: random(), held: held() });
        if (one === null || inHand.has(one.id) || breaker.isSuspect(one.id)) continue;
        sampled = takeAtOnce(one);
        return [sampled];
      }
      return [];
    },
    heard(deliveryId) {
      const known = rung.get(deliveryId);
      rung.delete(deliveryId);
      inHand.add(deliveryId);
      return known === undefined ? null : { ...known, urgent: urgent.has(deliveryId) };
    },
    done(deliveryIds) {
      for (const id of deliveryIds) {
        rung.delete(id);
        inHand.delete(id);
        urgent.delete(id);
      }
    },
    outstanding,
    unheard: () => rung.size,
    lost() {
      rung.clear();
      afterId = 0;
    },
  };
}
