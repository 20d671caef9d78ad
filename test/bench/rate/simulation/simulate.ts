import { createEventQueue } from './event-queue.ts';
import type { Limiter } from './limiters.ts';

/** The answer to a request. `status` is null if no answer came. `headers` state the limit. */
export interface SimAnswer {
  status: 200 | 429 | 503 | null;
  headers: Record<string, string>;
}

/** A client that decides when requests are sent. It always has work. Times are virtual milliseconds. */
export interface SimClient {
  /** Milliseconds to wait before asking again; 0 sends a request. */
  admit(now: number): number;
  /** How many requests may be in flight now. */
  concurrency(now: number): number;
  observe(answer: SimAnswer, sentAt: number, now: number): void;
}

export interface Simulation {
  limiter: Limiter;
  clients: readonly SimClient[];
  /** When each client begins. */
  startsAt?: readonly number[];
  /** The headers of an answer to the limiter's decision. */
  headers: (admission: { allowed: boolean; waitMs: number }, limiter: Limiter, now: number) => Record<string, string>;
  untilMs: number;
  changes?: readonly { atMs: number; factor: number }[];
  /** The status of a refusal; 429 if it is left out. */
  refusesWith?: 429 | 503;
  /** During an outage every request ends without an answer. */
  outage?: { fromMs: number; toMs: number } | undefined;
  random: () => number;
}

/** Requests by client and by second of arrival. */
export interface Trace {
  accepted: Uint32Array[];
  refused: Uint32Array[];
}

/** The time of a request or of an answer: 12 ms in the median. One in a hundred takes much longer. */
function delayMs(random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const jitter = 4 * Math.exp(0.7 * normal);
  return 8 + (random() < 0.01 ? jitter * 8 : jitter);
}

/** A timer is up to a millisecond late. Sometimes the process is busy with other work, and the timer is later. */
function lateness(random: () => number): number {
  return random() < 0.002 ? 40 * random() : random();
}

/** Runs clients against a limiter as a simulation of discrete events. The same seed gives the same trace. */
export function simulate(options: Simulation): Trace {
  const { limiter, clients, headers, untilMs, outage, random } = options;
  const seconds = Math.ceil(untilMs / 1000) + 1;
  const accepted = clients.map(() => new Uint32Array(seconds));
  const refused = clients.map(() => new Uint32Array(seconds));
  const inFlight = clients.map(() => 0);
  /** When each client wakes up next. An event with another time does nothing, because an earlier wake-up has replaced it. */
  const wakeAt = clients.map(() => Number.POSITIVE_INFINITY);
  const events = createEventQueue();
  const changes = [...(options.changes ?? [])];

  function wake(client: number, at: number): void {
    if (at >= (wakeAt[client] ?? 0)) return;
    wakeAt[client] = at;
    events.add(at, () => {
      if (wakeAt[client] !== at) return;
      wakeAt[client] = Number.POSITIVE_INFINITY;
      send(client, at);
    });
  }

  function send(index: number, now: number): void {
    const client = clients[index];
    if (client === undefined) return;
    while ((inFlight[index] ?? 0) < client.concurrency(now)) {
      const waitMs = client.admit(now);
      if (waitMs > 0) {
        wake(index, now + Math.max(1, Math.ceil(waitMs)) + lateness(random));
        return;
      }
      inFlight[index] = (inFlight[index] ?? 0) + 1;
      const arrivesAt = now + delayMs(random);
      events.add(arrivesAt, () => arrive(index, now, arrivesAt));
    }
  }

  function arrive(index: number, sentAt: number, now: number): void {
    while (changes[0] !== undefined && changes[0].atMs <= now) limiter.scale(changes.shift()?.factor ?? 1);
    const isAway = outage !== undefined && now >= outage.fromMs && now < outage.toMs;
    let answer: SimAnswer = { status: null, headers: {} };
    if (!isAway) {
      const admission = limiter.admit(now);
      const counts = (admission.allowed ? accepted : refused)[index];
      const second = Math.floor(now / 1000);
      if (counts !== undefined && second < seconds) counts[second] = (counts[second] ?? 0) + 1;
      answer = {
        status: admission.allowed ? 200 : (options.refusesWith ?? 429),
        headers: headers(admission, limiter, now),
      };
    }
    const backAt = now + delayMs(random);
    events.add(backAt, () => {
      inFlight[index] = (inFlight[index] ?? 0) - 1;
      clients[index]?.observe(answer, sentAt, backAt);
      send(index, backAt);
    });
  }

  for (const [index] of clients.entries()) wake(index, options.startsAt?.[index] ?? 0);
  events.run(untilMs);
  return { accepted, refused };
}
