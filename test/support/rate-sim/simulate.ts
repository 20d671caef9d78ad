import { createEventLine } from './event-queue.ts';
import type { Limiter } from './limiters.ts';

/** What comes back for a request: its status, or null for none, and the fields that the limit is told by. */
export interface SimAnswer {
  status: 200 | 429 | null;
  headers: Record<string, string>;
}

/** Something that decides when requests go out; there is always work for it. Times are virtual milliseconds. */
export interface SimClient {
  /** Milliseconds to wait before asking again; 0 sends a request. */
  admit(now: number): number;
  /** How many requests may be under way now. */
  concurrency(now: number): number;
  observe(answer: SimAnswer, sentAt: number, now: number): void;
}

export interface Simulation {
  limiter: Limiter;
  clients: readonly SimClient[];
  /** When each of them begins. */
  startsAt?: readonly number[];
  /** The fields of an answer, from the limiter's point of view. */
  headers: (decision: { allowed: boolean; waitMs: number }, limiter: Limiter, now: number) => Record<string, string>;
  untilMs: number;
  changes?: readonly { atMs: number; factor: number }[];
  /** While it lasts every request ends without an answer. */
  outage?: { fromMs: number; toMs: number } | undefined;
  random: () => number;
}

/** Requests by client and by second of arrival. */
export interface Trace {
  accepted: Uint32Array[];
  refused: Uint32Array[];
}

/** A request and its answer each take 12 ms in the median: 8 ms and a log-normal jitter, with one in a hundred that takes much longer. */
function delayMs(random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const jitter = 4 * Math.exp(0.7 * normal);
  return 8 + (random() < 0.01 ? jitter * 8 : jitter);
}

/** A timer is late by up to a millisecond, and now and then the process is busy with something else. */
function lateness(random: () => number): number {
  return random() < 0.002 ? 40 * random() : random();
}

/** Runs clients against a limiter as a simulation of discrete events. Equal seeds give equal traces. */
export function simulate(options: Simulation): Trace {
  const { limiter, clients, headers, untilMs, outage, random } = options;
  const seconds = Math.ceil(untilMs / 1000) + 1;
  const accepted = clients.map(() => new Uint32Array(seconds));
  const refused = clients.map(() => new Uint32Array(seconds));
  const underWay = clients.map(() => 0);
  /** A wake-up that was overtaken by an earlier one is told by its time. */
  const wakeAt = clients.map(() => Number.POSITIVE_INFINITY);
  const line = createEventLine();
  const changes = [...(options.changes ?? [])];

  function wake(client: number, at: number): void {
    if (at >= (wakeAt[client] ?? 0)) return;
    wakeAt[client] = at;
    line.add(at, () => {
      if (wakeAt[client] !== at) return;
      wakeAt[client] = Number.POSITIVE_INFINITY;
      send(client, at);
    });
  }

  function send(index: number, now: number): void {
    const client = clients[index];
    if (client === undefined) return;
    while ((underWay[index] ?? 0) < client.concurrency(now)) {
      const waitMs = client.admit(now);
      if (waitMs > 0) {
        wake(index, now + Math.max(1, Math.ceil(waitMs)) + lateness(random));
        return;
      }
      underWay[index] = (underWay[index] ?? 0) + 1;
      const arrivesAt = now + delayMs(random);
      line.add(arrivesAt, () => arrive(index, now, arrivesAt));
    }
  }

  function arrive(index: number, sentAt: number, now: number): void {
    while (changes[0] !== undefined && changes[0].atMs <= now) limiter.scale(changes.shift()?.factor ?? 1);
    const isAway = outage !== undefined && now >= outage.fromMs && now < outage.toMs;
    let answer: SimAnswer = { status: null, headers: {} };
    if (!isAway) {
      const decision = limiter.admit(now);
      const counts = (decision.allowed ? accepted : refused)[index];
      const second = Math.floor(now / 1000);
      if (counts !== undefined && second < seconds) counts[second] = (counts[second] ?? 0) + 1;
      answer = { status: decision.allowed ? 200 : 429, headers: headers(decision, limiter, now) };
    }
    const backAt = now + delayMs(random);
    line.add(backAt, () => {
      underWay[index] = (underWay[index] ?? 0) - 1;
      clients[index]?.observe(answer, sentAt, backAt);
      send(index, backAt);
    });
  }

  for (const [index] of clients.entries()) wake(index, options.startsAt?.[index] ?? 0);
  line.run(untilMs);
  return { accepted, refused };
}
