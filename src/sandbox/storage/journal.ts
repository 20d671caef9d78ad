import type { OperationName } from '../api/endpoints.ts';

/**
 * How a request ended: an HTTP status, a connection that was reset in place of an answer or within its body, or no
 * answer.
 */
export type Ending = number | 'reset' | 'truncated' | 'unanswered';

/** One of the last requests. */
export interface SandboxEvent {
  /** Milliseconds since the Unix epoch. */
  at: number;
  /** Null for a path or method that does not belong to an operation. */
  operation: OperationName | null;
  ending: Ending;
  /** The item that the request was about, if its body shows that; cut to 200 characters. */
  naturalKey: string | null;
  /** True for an answer that was repeated from an idempotency record. */
  replayed?: boolean | undefined;
  /** The message of an error in the sandbox itself, which was answered with 500. */
  error?: string | undefined;
}

const KEY_LENGTH_MAX = 200;

/** The events since the process began. */
export function createJournal(eventsMax: number) {
  // Operations and statuses are closed sets, so the counters are bounded.
  const counters = new Map<string, Map<string, number>>();
  const ring: SandboxEvent[] = [];
  let oldest = 0;
  let replayed = 0;
  return {
    request(event: SandboxEvent): void {
      const name = event.operation ?? 'other';
      const byEnding = counters.get(name) ?? new Map<string, number>();
      counters.set(name, byEnding);
      if (event.replayed) replayed += 1;
      const ending = String(event.ending);
      byEnding.set(ending, (byEnding.get(ending) ?? 0) + 1);
      if (eventsMax === 0) return;
      const { at, operation, naturalKey, ending: how, replayed: again, error } = event;
      const short: SandboxEvent = { at, operation, ending: how, naturalKey: naturalKey && shorten(naturalKey) };
      if (again) short.replayed = true;
      if (error !== undefined) short.error = error;
      if (ring.length < eventsMax) {
        ring.push(short);
      } else {
        ring[oldest] = short;
        oldest = (oldest + 1) % eventsMax;
      }
    },
    /** Requests by operation (`other` if there is none) and ending. */
    requests: (): Record<string, Record<string, number>> =>
      Object.fromEntries([...counters].map(([name, counts]) => [name, Object.fromEntries(counts)])),
    /** How many requests were answered from an idempotency record. */
    replayed: (): number => replayed,
    /** The last requests, oldest first. */
    events: (): SandboxEvent[] => [...ring.slice(oldest), ...ring.slice(0, oldest)],
  };
}

export type Journal = ReturnType<typeof createJournal>;

/** Copies the text that the journal keeps, because a plain slice would keep the whole original text in memory. */
function shorten(key: string): string {
  return key.length <= KEY_LENGTH_MAX ? key : Buffer.from(key.slice(0, KEY_LENGTH_MAX)).toString();
}
