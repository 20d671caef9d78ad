// Where pages begin, and what an answer shows about the next one.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { EACH, formatDocumentPath, type PathStep, valueAt } from '../document-path.ts';
import type { RestAnswer } from './rest-client.ts';
import type { RestPage } from './rest-options.ts';

export type PagedBy = Exclude<RestPage, { by: 'bulkJob' }>;

/** Where a page begins: at an address that the server gave, or with values for the request. */
export interface PlaceOfPage {
  /** A link of the last answer. */
  link?: string;
  /** The values of `{{cursor}}`, `{{after}}`, `{{offset}}` or `{{page}}`. */
  values: JsonObject;
  /** How many rows lie before the page, where the server counts them. */
  start?: number;
  /** The last row of the page before, which this page has to have too, and where it stands in this page if no rows come or go. */
  overlaps?: { row: JsonValue; at: number };
  /** The page before, which is requested again after this one, and its last row. */
  confirms?: { place: PlaceOfPage; last: JsonValue };
  /** True if the page must have no rows. */
  isProbe?: true;
  /** True if the total says that nothing is left. Some servers refuse such a page. */
  isBehindTotal?: true;
}

/** The set of rows has changed while it was read, so rows may have been skipped. Another pass can help. */
export class Shifted extends Error {}

/** The server gives no more rows for one request with all its pages, so there may be others. */
export class CapReached extends Error {
  readonly fault: Error;
  constructor(fault: Error) {
    super(fault.message);
    this.fault = fault;
  }
}

export interface AnsweredPage {
  answer: RestAnswer;
  /** All elements of the list in the answer, before anything is left out. */
  rows: readonly JsonValue[];
  /** The path of that list. */
  list: readonly PathStep[];
  /** How many elements of the page these are: with `[*]` in the path of the rows, an element has several rows or none. */
  elements: number;
  place: PlaceOfPage;
  /** The number of all rows that the answer states; null if it states none. */
  total: number | null;
  /** True if the request states the size of its page, so that a page of another size can be requested. */
  canResize: boolean;
  /** What was requested, for errors. */
  what: string;
}

export function flagAt(path: readonly PathStep[], { answer, what }: AnsweredPage): boolean {
  const flag = valueAt(answer.document, path);
  if (typeof flag === 'boolean') return flag;
  throw unclear(what, `${formatDocumentPath(path)} is ${shownJson(flag)} in place of true or false`);
}

export function unclear(
  what: string,
  reason: string,
  cure = 'Correct `page` of the stream after the documentation of the API.',
): Error {
  return sourceFault(
    `The answer for ${what} does not show whether it is the last one: ${reason}. So the read is incomplete.`,
    { suggestion: cure },
  );
}

/** Then no row shows where the next page has to begin. */
export const WITHOUT_ROWS = 'it has elements, and none of them has rows';

const SHOWN_MAX = 100;

/** A value of an answer for a message. */
export function shownJson(value: JsonValue | undefined): string {
  const text = JSON.stringify(value ?? null);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** What an answer has in place of a list, as the end of a sentence: `The answer for page 1 of items …`. */
export function listMissing(document: JsonValue, path: readonly PathStep[]): string {
  const fork = path.indexOf(EACH);
  const found = valueAt(document, fork === -1 ? path : path.slice(0, fork));
  const at = formatDocumentPath(path);
  if (found === undefined || path.length === 0) return `has no list at ${at}. It has ${shownMembers(document)}.`;
  return `has ${shownJson(found)} in place of a list at ${at}.`;
}

const NAMES_MAX = 12;

/** The members of a document for a message. */
export function shownMembers(document: JsonValue): string {
  if (Array.isArray(document)) return 'a list';
  if (typeof document !== 'object' || document === null) return `only ${shownJson(document)}`;
  const names = Object.keys(document);
  const shown = names
    .slice(0, NAMES_MAX)
    .map((name) => (name.length > SHOWN_MAX ? `${name.slice(0, SHOWN_MAX)}…` : name));
  return names.length === 0 ? 'no members' : `${shown.join(', ')}${names.length > NAMES_MAX ? ', …' : ''}`;
}
