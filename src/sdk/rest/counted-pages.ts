// Pages whose places a server counts from the beginning: by offset, and by number.
//
// A row that goes moves all later rows forward, so that the next page would skip one of them. Therefore each page begins so early that it
// has the last row of the page before it: an answer with this row shows that no row after it was skipped. For pages with numbers this
// takes a page of another size. If the size cannot be changed, the page before is requested again after the next one.

import type { JsonValue } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import {
  type AnsweredPage,
  flagAt,
  type PagedBy,
  type PlaceOfPage,
  Shifted,
  unclear,
  WITHOUT_ROWS,
} from './page-places.ts';

type CountedBy = PagedBy & { by: 'offset' | 'page' };

/** Where the next page begins; null if this answer was provably the last one. */
export function nextCounted(page: CountedBy, at: AnsweredPage): PlaceOfPage | null {
  const { rows, elements, place, what } = at;
  /** How many elements lay before the end of this page when the server answered. */
  const end = (place.start ?? 0) + elements;
  const last = rows.at(-1);
  if (place.isProbe === true) {
    if (elements === 0) return null;
    throw new Shifted(`${what} has rows, and the page before it had only one`);
  }
  if (page.by === 'page') assertSize(page, at);
  const isLast =
    page.end === 'flag' ? !flagAt(page.more ?? [], at) : page.end === 'total' ? hasAll(page, at, end) : null;
  if (isLast === true) return null;
  if (last === undefined) {
    if (elements > 0) throw unclear(what, WITHOUT_ROWS);
    if (isLast === null) return null;
    throw unclear(what, 'it has no rows, and more rows are announced');
  }
  const next = page.by === 'offset' ? nextOffset(page, at, { end, last }) : nextNumber(page, at, { end, last });
  const isReached = page.end === 'total' && at.total !== null && end >= at.total;
  return next !== null && isReached ? { ...next, isBehindTotal: true } : next;
}

/** @throws a `sourceFault` if the first page has fewer rows than it was asked for, and more rows are stated */
function assertSize(
  page: CountedBy & { by: 'page' },
  { rows, elements, place, total, canResize, what }: AnsweredPage,
): void {
  const isUsed = canResize || page.end === 'shortRawPage';
  if (place.start !== 0 || !isUsed || total === null || elements >= page.size) return;
  if (total <= Math.max(rows.length, elements)) return;
  // A first page with all rows but one may have lost it while the server counted.
  if (total <= page.size && elements === total - 1) return;
  throw sourceFault(
    `The answer for ${what} has ${elements} of ${total} rows, and a full page has ${page.size} (\`page.size\`), so the server gives smaller pages. The read is incomplete.`,
    {
      suggestion: `Write the size that the server gives into \`page.size\`, and that number into the request in place of {{size}}.`,
    },
  );
}

/**
 * A total may be too low: some servers count a few pages only, or the rows of this page. So it does not end the read at a full page, which
 * may have a successor.
 */
function hasAll(page: CountedBy, { total, elements, place }: AnsweredPage, end: number): boolean {
  if (total === null) return elements === 0;
  const isFull = elements > 1 && elements >= Number(place.values['size'] ?? page.size);
  return end >= total && !isFull;
}

function nextOffset(
  page: CountedBy & { by: 'offset' },
  { elements, place, total }: AnsweredPage,
  { end, last }: { end: number; last: JsonValue },
): PlaceOfPage | null {
  if (elements > 1) return { values: { offset: end - 1 }, start: end - 1, overlaps: { row: last, at: 0 } };
  if (page.end === 'shortRawPage' && total !== null && end >= total) return null;
  // A server that shortens its pages to one row gives no row after the overlap either.
  if (page.end === 'shortRawPage') return { values: { offset: end }, start: end, isProbe: true };
  throw new Shifted(`the page at row ${place.start ?? 0} has only one row, and more rows are announced`);
}

function nextNumber(
  page: CountedBy & { by: 'page' },
  { elements, place, canResize }: AnsweredPage,
  { end, last }: { end: number; last: JsonValue },
): PlaceOfPage | null {
  if (page.end === 'shortRawPage' && elements < Number(place.values['size'])) return null;
  const across = canResize ? pageAcross(end - 1, page.size) : null;
  if (across !== null) {
    const { start, size } = across;
    return { values: { page: page.first + start / size, size }, start, overlaps: { row: last, at: end - 1 - start } };
  }
  const { overlaps: _, confirms: __, ...former } = place;
  const isFull = end % page.size === 0;
  const number = isFull ? page.first + end / page.size : Number(place.values['page']) + 1;
  const start = (number - page.first) * page.size;
  return { values: { page: number, size: page.size }, start, confirms: { place: former, last } };
}

/**
 * The page of at most this size that has the row at a position, counted from 0, and as many rows after it as possible; null if each page
 * ends with that row.
 */
export function pageAcross(position: number, sizeMax: number): { start: number; size: number } | null {
  let best: { start: number; size: number } | null = null;
  let most = 0;
  for (let size = sizeMax; size - 1 > most; size -= 1) {
    const start = position - (position % size);
    const after = start + size - 1 - position;
    if (after <= most) continue;
    most = after;
    best = { start, size };
  }
  return best;
}
