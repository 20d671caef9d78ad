import { type JsonValue, sourceFault } from '../../../../src/sdk/index.ts';

/** The flaws that a reader of a REST API can have. */
export type RestFlaw =
  | 'shows its token'
  | 'reads one page'
  | 'stops at a short page'
  | 'stops at an empty page'
  | 'trusts the number of rows'
  | 'takes an absent number for none'
  | 'compares no numbers'
  | 'ignores a page that repeats'
  | 'a limit of pages is the end'
  | 'gives a row twice'
  | 'a lost link is the end'
  | 'an absent flag is false'
  | 'the cap is the end'
  | 'a token that is 0 or empty ends'
  | 'repeats a request that cannot be repeated'
  | 'gives up at 429'
  | 'a failure is an empty page'
  | 'a cut answer is an empty page'
  | 'does not log in again'
  | 'a refused login is the end'
  | 'HTML is an empty page'
  | 'what is not found is empty'
  | 'null is an empty list'
  | 'parses with JSON.parse'
  | 'ignores a link'
  | 'a full answer is complete'
  | 'a failed job has no rows'
  | 'does not count lines'
  | 'asks by its own clock'
  | 'asks from the end of the last read'
  | 'asks from the beginning of the last read'
  | 'goes on after changes by its own clock'
  | 'changes have one page'
  | 'leaves out tombstones'
  | 'a forgotten link is nothing new'
  | 'a lost delta link is nothing new';

/** The kinds of paging that the reader knows. */
export type RestKind = 'none' | 'delta' | 'cursor' | 'page' | 'keyset' | 'bulk';

/** A reader with at most one flaw. */
export interface Reader {
  kind: RestKind;
  has: (flaw: RestFlaw) => boolean;
  /** True if the reader has one of these flaws. */
  hasOneOf: (flaws: readonly RestFlaw[]) => boolean;
}

/** Flaws that take something else for the end of the rows. */
export const END_EARLY: readonly RestFlaw[] = [
  'a lost link is the end',
  'changes have one page',
  'stops at a short page',
  'ignores a page that repeats',
  'a limit of pages is the end',
  'a failure is an empty page',
  'a cut answer is an empty page',
  'a refused login is the end',
  'HTML is an empty page',
  'what is not found is empty',
  'null is an empty list',
  'reads one page',
];
/** Flaws that trust the number of all rows, or do not look at it. */
export const TRUSTING: readonly RestFlaw[] = ['trusts the number of rows', 'takes an absent number for none'];
export const WITHOUT_NUMBERS: readonly RestFlaw[] = [
  ...END_EARLY,
  ...TRUSTING,
  'compares no numbers',
  'gives a row twice',
];

export const SIZE = 10;
export const CAP = 40;

/** The rows have moved, so the read begins again. */
export class Moved extends Error {}
/** There is no answer, and the same request must not be sent again. */
export class NoAnswer extends Error {}
/** The server does not know the address any more. */
export class Forgotten extends Error {}

export const fail = (message: string): Error => sourceFault(message, { suggestion: 'Read again.' });

export const textOf = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);
