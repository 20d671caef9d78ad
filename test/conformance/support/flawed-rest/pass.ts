import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/sdk/index.ts';
import type { Ask } from './ask.ts';
import { CAP, fail, Moved, type Reader, SIZE, TRUSTING, textOf, WITHOUT_NUMBERS } from './flaws.ts';

/** What all pages from an address gave. */
export interface Pass {
  rows: JsonObject[];
  /** When the server gave the first and the last page, by its clock. */
  begun: number;
  ended: number;
  delta: JsonValue | undefined;
}

/** True if a reader compares what it has read with something else. */
const comparesIn = ({ kind, hasOneOf }: Reader): boolean =>
  (kind === 'delta' || kind === 'page') && !hasOneOf(WITHOUT_NUMBERS);

type Asked = { first: string; signal: AbortSignal; isChanges: boolean };

/** Reads all rows from an address. @throws Moved if rows may have been skipped */
export async function readRows(ask: Ask, reader: Reader, asked: Asked): Promise<Pass> {
  const pass = await readPass(ask, reader, asked);
  if (reader.kind !== 'page' || !comparesIn(reader)) return pass;
  // The server counts rows, so a row that went may have hidden another one.
  const again = await readPass(ask, reader, asked);
  if (JSON.stringify(again.rows) !== JSON.stringify(pass.rows)) throw new Moved();
  return pass;
}

/** Reads all pages once. */
async function readPass(ask: Ask, reader: Reader, { first, signal, isChanges }: Asked): Promise<Pass> {
  const { kind, has } = reader;
  const compares = comparesIn(reader);
  const rows = new Map<string, JsonObject>();
  const twice: JsonObject[] = [];
  let url: string | null = first;
  let former = '';
  let total: JsonValue | undefined;
  let begun: number | null = null;
  let ended = 0;
  let delta: JsonValue | undefined;
  for (let number = 1; url !== null; number += 1) {
    const { document, date, hasLink } = await ask(url, signal);
    begun ??= date;
    ended = date;
    delta = document['delta'];
    const { items: found } = document;
    const items = found === null && has('null is an empty list') ? [] : found;
    if (!Array.isArray(items)) throw fail('The answer has no list.');
    if (kind === 'none' && hasLink && !has('ignores a link')) throw fail('There is another page.');
    const list = items.filter(isJsonObject);
    const text = JSON.stringify(list);
    if (list.length > 0 && text === former && !has('ignores a page that repeats')) throw fail('A page comes again.');
    former = text;
    for (const row of list) {
      const key = textOf(row['id']);
      if (has('gives a row twice') && rows.has(key)) twice.push(row);
      rows.set(key, row);
    }
    if (compares && number > 1 && document['total'] !== total) throw new Moved();
    total = document['total'];
    url = nextOf(reader, { document, list, number, first, read: rows.size });
    if (has('reads one page') || (isChanges && has('changes have one page'))) url = null;
    if (has('a limit of pages is the end') && number === 100) url = null;
    if (has('stops at a short page') && list.length < SIZE) url = null;
    if (has('stops at an empty page') && list.length === 0) url = null;
  }
  if (compares && rows.size !== total) throw new Moved();
  if (kind === 'cursor' && rows.size >= CAP && rows.size < 10 * CAP && !has('the cap is the end')) {
    throw fail('There may be more.');
  }
  return { rows: [...rows.values(), ...twice], begun: begun ?? 0, ended, delta };
}

interface At {
  document: JsonObject;
  list: readonly JsonObject[];
  number: number;
  first: string;
  read: number;
}

/** The address of the next page; null if there is none. */
function nextOf({ kind, has, hasOneOf }: Reader, { document, list, number, first, read }: At): string | null {
  const { next = null, more, total } = document;
  const to = (name: string, value: string): string =>
    `${first}${first.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`;
  switch (kind) {
    case 'none':
    case 'bulk':
      if (list.length >= CAP && !has('a full answer is complete')) throw fail('The answer may be cut off.');
      return null;
    case 'delta':
      return typeof next === 'string' ? next : null;
    case 'cursor': {
      const isUnclear = typeof more !== 'boolean' && !has('an absent flag is false');
      if (isUnclear || (more === true && next === null)) throw fail('It is not clear whether there is another page.');
      const isEmpty = has('a token that is 0 or empty ends') && (next === '0' || next === '');
      return isEmpty || more !== true ? null : to('cursor', textOf(next));
    }
    case 'page': {
      const isTrusted = typeof total === 'number' ? has('trusts the number of rows') : hasOneOf(TRUSTING.slice(1));
      if (isTrusted ? read >= Number(total ?? 0) : list.length < (hasOneOf(TRUSTING) ? 1 : SIZE)) {
        if (!has('ignores a page that repeats') || list.length === 0) return null;
      }
      return to('page', String(number + 1));
    }
    case 'keyset':
      return list.length === 0 ? null : to('after', textOf(list.at(-1)?.['id']));
  }
}
