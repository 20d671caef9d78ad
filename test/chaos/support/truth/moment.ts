import type { WebVisitor } from '../../../support/browser/web-visitor.ts';
import type { Books, RunBook } from './books.ts';

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

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

export const lastRun = ({ books }: Moment, source: string): RunBook | undefined =>
  books.runs.find((run) => run.source === source);
