import type { WebVisitor } from '../../../support/browser/web-visitor.ts';
import type { Books, RunBook } from './books.ts';
import type { Speed } from './speed.ts';

/** What is known of the daemon at a moment of the night. */
export interface Moment {
  books: Books;
  visitor: WebVisitor;
  configFile: string;
  sources: readonly string[];
  /** Sources that are being read. */
  running: readonly string[];
  /** How many requests of this daemon have ended. */
  answered: number;
  speed: Speed;
  /** A task that was started on a page and has not ended, with how many deliveries have ended since. */
  task: { path: string; ended: number } | null;
  /** How often a figure that is only shown at some moments was compared, by its name. */
  seen: Map<'latency' | 'usual latency' | 'time left' | 'task', number>;
  /** What was counted since the ledger is new. */
  activity: { rows: number; requests: number; refused: number; delivered: number; failed: number };
}

/** What a run counts of its rows. */
export const ACCOUNT = ['read', 'unchanged', 'changed', 'quarantined', 'excluded', 'missing'] as const;

/** A fact of the books by its name. */
export type Fact = (name: string) => number;

export const factsOf =
  ({ books }: Moment): Fact =>
  (name) =>
    books.facts[name] ?? 0;

export function see({ seen }: Moment, name: Parameters<Moment['seen']['get']>[0]): void {
  seen.set(name, (seen.get(name) ?? 0) + 1);
}

/** In how many seconds everything is sent that waits for nothing, at the present speed. */
export function secondsLeftOf(moment: Moment): number {
  const fact = factsOf(moment);
  const left = sum(['due', 'sending', 'following', 'in_doubt'].map((state) => fact(`left ${state}`)));
  return Math.ceil(left / moment.speed.perSecond);
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

export const lastRun = ({ books }: Moment, source: string): RunBook | undefined =>
  books.runs.find((run) => run.source === source);
