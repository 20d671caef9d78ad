// What `check` requests of a stream, and what it says about the answers: those that a read would begin with.

import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { formatPeriod } from '../../lib/text/amounts.ts';
import type { StreamCheck } from '../connector.ts';
import { formatDocumentPath, valueAt } from '../document-path.ts';
import { type ChildRow, childRequest, readChildren } from './child-rows.ts';
import { shownMembers } from './page-places.ts';
import { type Asked, type RawPage, type RestRead, rawPages } from './read-pass.ts';
import { withPagesOfChanges } from './read-stream.ts';
import { type RestAnswer, Unavailable } from './rest-client.ts';
import { formatSince } from './since.ts';
import { isGone } from './tombstones.ts';

const COLUMNS_SHOWN = 12;

/** Requests the first page, and the children of its first row, and shows what they have. */
export async function checkRead(read: RestRead): Promise<StreamCheck> {
  const { stream } = read;
  const asked = firstRequest(read);
  if (asked === null) return { found: `a bulk job at ${stream.get || '/'}; it is started by a pull only` };
  try {
    for await (const page of asked) return await checkPage(read, page);
  } catch (error) {
    throw error instanceof Unavailable ? error.fault : error;
  }
  return { found: 'no answer' };
}

async function checkPage(read: RestRead, { rows, total, answer, lacking }: RawPage): Promise<StreamCheck> {
  const { stream, name } = read;
  const { changes, reconcile, each } = stream;
  const of = total === null ? '' : ` of ${total}`;
  const listed = columnsIn(rows);
  const found = `${rows.length}${of} rows on the first page${shownColumns(listed)}`;
  const first = rows.find((row) => isJsonObject(row) && !isGone(read, row) && lacking?.has(row) !== true);
  const children = each === undefined || first === undefined ? [] : await readChildren(read, each, first as JsonObject);
  const into = each?.into === undefined ? [] : [each.into];
  const leadsToRows = each !== undefined && into.length === 0;
  const known = children.filter(({ lack }) => lack === null).map(({ fields }) => fields);
  const own = leadsToRows ? known : rows;
  const columns = [...columnsIn(own), ...into];
  const missing = own.length === 0 ? [] : read.key.filter((column) => !columns.includes(column));
  const warnings = [
    ...missing.map((column) => `The rows of ${name} have no ${column}, which \`key\` names.`),
    ...lackOf(read, { first, children }),
    ...(changes?.blindTo ?? []).map((what) => `The changes of ${name} do not show ${what}.`),
    ...(changes !== undefined && reconcile !== undefined && (changes.blindTo ?? []).length > 0
      ? [`The complete read of every ${formatPeriod(reconcile)} shows it.`]
      : []),
    ...(changes !== undefined &&
    'by' in changes &&
    rows.length > 0 &&
    rows.every((row) => valueAt(row, changes.by) === undefined)
      ? [`The rows of ${name} have no ${formatDocumentPath(changes.by)}, which \`changes.by\` names.`]
      : []),
    ...weakProof(read, rows),
    ...unseenPlace(read, answer),
    ...(rows.length > 0 && rows.every((row) => isGone(read, row))
      ? [`Every row on the first page of ${name} counts as gone. Check \`changes.gone.at\`.`]
      : []),
    ...(changes !== undefined && 'by' in changes && answer.headers['date'] === undefined
      ? ['The server sends no header Date, without which changes cannot be read.']
      : []),
  ];
  const hasAll = leadsToRows && first !== undefined && known.length === children.length;
  const foundChildren = hasAll ? `; for the first one ${known.length} rows${shownColumns(columns)}` : '';
  return {
    found: `${found}${foundChildren}`,
    ...(own.length > 0 && columns.length > 0 ? { columns } : {}),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

/** A warning if the parts of the first row are unknown. A read puts such a row into the quarantine. */
function lackOf(
  read: RestRead,
  { first, children }: { first: JsonValue | undefined; children: readonly ChildRow[] },
): string[] {
  const { each } = read.stream;
  const lack = children.find((child) => child.lack !== null)?.lack ?? null;
  if (each === undefined || first === undefined || lack === null) return [];
  const { pathname } = childRequest(read, each, first as JsonObject).url;
  const member = each.into === undefined ? '' : `the member ${each.into} of `;
  return [
    `\`each\` of ${read.name} has requested ${pathname} for ${member}the first row. ${lack} If other rows are no exception, correct \`each.get\` and \`each.rows\`.`,
  ];
}

function columnsIn(rows: readonly JsonValue[]): string[] {
  return [...new Set(rows.flatMap((row) => (isJsonObject(row) ? Object.keys(row) : [])))];
}

/** Columns as the end of a sentence. */
function shownColumns(columns: readonly string[]): string {
  if (columns.length === 0) return '';
  return `, columns ${columns.slice(0, COLUMNS_SHOWN).join(', ')}${columns.length > COLUMNS_SHOWN ? ', …' : ''}`;
}

/** A warning if the pages of a stream end without anything that a cut read would contradict. */
function weakProof({ name, stream: { page } }: RestRead, rows: readonly JsonValue[]): string[] {
  if (page.by === 'bulkJob' || page.total !== undefined) return [];
  const cure = 'so that a read that was cut off is noticed.';
  if (page.by === 'keyset' && rows.some((row) => typeof valueAt(row, page.after) === 'string')) {
    return [
      `Only the server knows the order of the texts at ${formatDocumentPath(page.after)}. Check that the request of ${name} sorts by them, or declare \`page.total\`, ${cure}`,
    ];
  }
  if (page.by === 'none' && page.size === undefined) {
    return [
      `Only signs of further rows that dpp-sync knows would show that the one answer for ${name} is cut off. If the API gives a certain number of rows at most, declare \`page.size\` or \`page.total\`, ${cure}`,
    ];
  }
  const isLinked = page.by === 'nextLink' || page.by === 'header' || (page.by === 'cursor' && page.end === 'nullToken');
  if (!isLinked || page.size !== undefined) return [];
  return [
    `Only an answer without a next page shows the end of ${name}. If the API can, declare \`page.size\` or \`page.total\`, ${cure}`,
  ];
}

/** A warning if the first answer lacks the member that leads to the next page: a wrong path of it would look like the end. */
function unseenPlace({ name, stream: { page } }: RestRead, { document }: RestAnswer): string[] {
  if (page.by === 'bulkJob' || page.total !== undefined) return [];
  const [option, path] =
    page.by === 'nextLink'
      ? ['page.next', page.next]
      : page.by === 'cursor' && page.end === 'nullToken'
        ? ['page.cursor', page.cursor]
        : ['', null];
  if (path === null || valueAt(document, path) !== undefined) return [];
  return [
    `The first answer for ${name} has no ${formatDocumentPath(path)}, which \`${option}\` names, so a read would end after it. It has ${shownMembers(document)}. If there are further pages, correct \`${option}\`.`,
  ];
}

/** A time before all changes, with which a request for changes gives any rows. */
const LONG_AGO = Date.UTC(1980, 0, 1);

/** The request that shows most about a stream without starting a job; null if there is none. */
function firstRequest(read: RestRead): AsyncIterable<RawPage> | null {
  const { page, changes } = read.stream;
  if (page.by !== 'bulkJob') return pagesOf(read, { kind: 'all' });
  const ofChanges = changes !== undefined && 'by' in changes ? changes : null;
  if (ofChanges?.page === undefined || ofChanges.page.by === 'bulkJob') return null;
  return pagesOf(withPagesOfChanges(read), { kind: 'since', since: formatSince(LONG_AGO, ofChanges) });
}

function pagesOf(read: RestRead, asked: Asked): AsyncGenerator<RawPage> {
  return rawPages(read, asked, { count: () => 0, nameOf: () => null });
}
