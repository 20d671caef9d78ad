import { ANSWER_TRAPS } from './rest-answer-traps.ts';
import type { RestApi } from './rest-api.ts';
import type { Behaviour } from './rest-behaviour.ts';
import { END_TRAPS } from './rest-end-traps.ts';
import type { ApiRows } from './rest-rows.ts';
import { linksOnly, pagesOnly, type Trap } from './rest-trap.ts';

const MOVED =
  'Compare the number of all rows, let pages overlap, or read by key, so that rows which come and go are noticed. A row that comes again is used once.';

const REPLACED =
  'The number of all rows is the same, and a row was skipped. Let pages overlap, read by key, or request each page again after the next one.';

const beforePage2 = (act: (rows: ApiRows) => void) => (): Behaviour => ({
  before: (page, rows) => page === 2 && act(rows),
});

/** Traps in pages: short ones, ones that come again, and rows that move while they are read. */
const PAGE_TRAPS: readonly Trap[] = [
  {
    title: 'a page in the middle is short',
    verdict: 'whole or fault',
    without: (api) =>
      pagesOnly(api) ?? (api.page.by === 'page' ? 'a page has its rows by its number, see hidden rows' : null),
    behaviour: () => ({ size: (page, asked) => (page === 2 ? Math.ceil(asked / 2) : asked) }),
    cure: 'A page that is not full does not prove the end. The next page begins after the rows that came.',
    inChanges: true,
  },
  {
    title: 'a page in the middle has no rows',
    verdict: 'whole or fault',
    without: (api) => linksOnly(api, 'a page without rows is the end of this kind of paging'),
    behaviour: () => ({ size: (page, asked) => (page === 2 ? 0 : asked) }),
    cure: 'A page without rows does not prove the end if it leads to another page.',
  },
  {
    title: 'rows in the middle are hidden after the page was counted',
    verdict: 'whole or fault',
    without: pagesOnly,
    behaviour: () => ({
      before(page, rows) {
        if (page !== 1) return;
        const third = Math.floor(rows.there().length / 3);
        rows.hide(third, third + 3);
      },
    }),
    settle: (rows) => rows.removeHidden(),
    cure: 'A page that is not full does not prove the end. Compare the number of all rows.',
  },
  {
    title: 'a page comes again in place of the next one',
    verdict: 'fault',
    without: pagesOnly,
    behaviour: () => ({ reply: (page, _, { former }) => (page === 3 ? former : null) }),
    cure: 'A page that comes twice is an error.',
  },
  {
    title: 'the page beyond the end is the last page again',
    verdict: 'whole or fault',
    without: numberedOnly,
    behaviour: () => ({
      before(page, rows, size) {
        // A last page that is full makes a reader ask for the page after it.
        if (page === 1) for (let left = rows.there().length % size; left > 0; left -= 1) rows.remove(0);
      },
      reply: (page, _, { rows, former }) => (page > 1 && rows === 0 ? former : null),
    }),
    cure: 'A page that comes twice is an error, and the number of all rows shows that nothing is missing.',
  },
  {
    title: 'a row appears before the page that is read',
    verdict: 'whole or fault',
    without: movableOnly,
    behaviour: ({ copy }) => ({
      before(page, rows) {
        const [first] = rows.there();
        if (page === 2 && first !== undefined) rows.add(copy(first.fields, 1), 'first');
      },
    }),
    cure: MOVED,
  },
  {
    title: 'a row that was read disappears',
    verdict: 'whole or fault',
    without: pagesOnly,
    behaviour: beforePage2((rows) => rows.remove(1)),
    cure: MOVED,
  },
  {
    title: 'a row that was read disappears, and a new one appears at the end',
    verdict: 'whole or fault',
    without: pagesOnly,
    behaviour: ({ copy }) => ({
      before(page, rows) {
        const [first] = rows.there();
        if (page !== 2 || first === undefined) return;
        rows.remove(1);
        rows.add(copy(first.fields, 1), 'last');
      },
    }),
    cure: REPLACED,
  },
  {
    title: 'a row that was read moves to the end',
    verdict: 'whole or fault',
    without: movableOnly,
    behaviour: beforePage2((rows) => rows.moveToEnd(1)),
    cure: MOVED,
  },
];

function numberedOnly(api: RestApi): string | null {
  return ['offset', 'page', 'keyset'].includes(api.page.by) ? null : 'the server says which page is the last one';
}

function movableOnly(api: RestApi): string | null {
  return pagesOnly(api) ?? (api.page.by === 'keyset' ? 'the place of a row is its key' : null);
}

/** The traps, in the order of the checks. */
export const TRAPS: readonly Trap[] = [...PAGE_TRAPS, ...END_TRAPS, ...ANSWER_TRAPS];
