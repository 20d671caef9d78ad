// What an answer shows about rows that it does not contain, although nothing in the options says where to look.

import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { formatDocumentPath, type PathStep, valueAt } from '../document-path.ts';
import { textOf } from './placeholders.ts';

/** Members that are true if there are more rows. Names are compared without case and punctuation. */
const FLAGS = new Set(['hasmore', 'hasnext', 'hasnextpage', 'morerecords', 'moreresults', 'hasmoreitems']);
/** Members with the number of all rows, and of all pages. */
const TOTALS = new Set(
  'total totalcount totalresults totalitems totalelements totalrows totalrecords recordstotal odatacount'.split(' '),
);
const PAGES = new Set(['pages', 'totalpages', 'pagecount', 'numpages', 'lastpage']);
/** Members beside a list that describe its pages. */
const ABOUT_PAGES = new Set(['meta', 'pagination', 'paging', 'page', 'pageinfo', 'info', 'cursor']);

/**
 * Where an answer says that its list is not whole; null if it does not say so.
 *
 * @param rows the path of the list in the answer
 * @param counts true if numbers of rows and pages are looked at, which can have other meanings, such as the total of an invoice
 */
export function signOfMore(
  document: JsonValue,
  rows: readonly PathStep[],
  { count, counts }: { count: number; counts: boolean },
): string | null {
  for (let depth = 0; depth < Math.max(rows.length, 1); depth += 1) {
    const path = rows.slice(0, depth);
    const around = valueAt(document, path);
    if (around === undefined || !isJsonObject(around)) continue;
    const inner = Object.entries(around).filter(([name]) => ABOUT_PAGES.has(wordOf(name)));
    for (const [steps, object] of [
      [path, around] as const,
      ...inner.map(([name, one]) => [[...path, name], one] as const),
    ]) {
      const name = isJsonObject(object) ? signIn(object, { count, counts }) : null;
      if (name !== null) return `${formatDocumentPath([...steps, name])}: ${JSON.stringify(valueAt(object, [name]))}`;
    }
    const list = String(rows[depth]);
    const links = ['__next', `${list}@odata.nextLink`, `${list}@nextLink`];
    const link = links.find((name) => typeof memberOf(around, name) === 'string');
    if (link !== undefined) return formatDocumentPath([...path, link]);
  }
  return null;
}

function signIn(object: JsonObject, { count, counts }: { count: number; counts: boolean }): string | null {
  const found = Object.entries(object).find(([name, value]) => {
    const word = wordOf(name);
    if (FLAGS.has(word)) return value === true;
    const number = counts && /^\d{1,15}$/.test(textOf(value)) ? Number(value) : 0;
    return (TOTALS.has(word) && number > count) || (PAGES.has(word) && number > 1);
  });
  return found?.[0] ?? null;
}

function wordOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}
