import type { RestApi } from './rest-api.ts';
import type { Behaviour } from './rest-behaviour.ts';
import type { ApiRows } from './rest-rows.ts';
import { linksOnly, pagesOnly, type Trap, type TrapSetup } from './rest-trap.ts';

const UNKNOWN_END =
  'Declare what proves the end of the list: the size of a full page or the number of all rows (`size` or `total` of `page`), and compare it with what was read.';
const withTotal = (api: RestApi): string | null =>
  api.total === undefined ? 'the answers have no number of all rows' : null;
const totals = (edit: (total: number) => number | null | undefined) => (): Behaviour => ({
  edit(parts) {
    parts.total = edit(Number(parts.total));
  },
});

/** Traps in what shows the end of the rows: numbers, links, flags, tokens, caps and the state of a job. */
export const END_TRAPS: readonly Trap[] = [
  {
    title: 'the number of all rows is null',
    verdict: 'whole or fault',
    without: withTotal,
    behaviour: totals(() => null),
    cure: 'Without the number of all rows nothing is proved by it. A number that is null is not 0.',
  },
  {
    title: 'the number of all rows is absent',
    verdict: 'whole or fault',
    without: withTotal,
    behaviour: totals(() => undefined),
    cure: 'Without the number of all rows nothing is proved by it.',
  },
  {
    title: 'the number of all rows is too low',
    verdict: 'whole or fault',
    without: withTotal,
    behaviour: totals((total) => Math.ceil(total / 2)),
    cure: 'The number of all rows is a check, not the end. If it differs from what was read, the read is incomplete.',
  },
  {
    title: 'the number of all rows counts the first two pages only',
    verdict: 'whole or fault',
    without: (api) => withTotal(api) ?? pagesOnly(api),
    behaviour() {
      const counted = new Set<string>();
      return {
        edit(parts, page) {
          if (page <= 2) for (const row of parts.rows) counted.add(JSON.stringify(row));
          if (page >= 2) parts.total = counted.size;
        },
      };
    },
    cure: 'The number of all rows is a check, not the end. Ask for another page if the last one is full.',
  },
  {
    title: 'the number of all rows is that of the page',
    verdict: 'whole or fault',
    without: (api) => withTotal(api) ?? pagesOnly(api),
    behaviour: () => ({
      edit(parts) {
        parts.total = parts.rows.length;
      },
    }),
    cure: 'The number of all rows is a check, not the end. If it differs from what was read, the read is incomplete.',
  },
  {
    title: 'the way to the next page is lost',
    verdict: 'fault',
    without: (api) => linksOnly(api, 'the reader itself knows where the next page begins'),
    behaviour: () => ({
      edit(parts, page) {
        if (page === 2) parts.next = null;
      },
    }),
    cure: UNKNOWN_END,
    inChanges: true,
  },
  {
    title: 'the flag of the last page is lost',
    verdict: 'whole or fault',
    without: ({ page }) =>
      page.by === 'graphql' || ('more' in page && page.more !== undefined) ? null : 'the answers have no such flag',
    behaviour: () => ({
      edit(parts, page) {
        if (page === 2) parts.more = undefined;
      },
    }),
    cure: 'A flag that is absent is not `false`.',
  },
  {
    title: 'an answer has all rows that the server gives at most',
    verdict: 'fault',
    without: ({ page }) =>
      page.by !== 'none' ? 'there are pages' : page.size === null ? 'the server has no limit' : null,
    behaviour: ({ api, copy }) => {
      const most = api.page.by === 'none' ? (api.page.size ?? 0) : 0;
      return { cap: most, before: beyond(most, copy) };
    },
    cure: UNKNOWN_END,
  },
  {
    title: 'an answer of a list without pages leads to another page',
    verdict: 'fault',
    without: ({ page }) => (page.by === 'none' ? null : 'there are pages'),
    behaviour: () => ({
      edit(parts) {
        parts.rows = parts.rows.slice(0, Math.ceil(parts.rows.length / 2));
        parts.next = 'another-page';
      },
    }),
    cure: 'A link to another page in an answer that should have all rows is an error.',
  },
  {
    title: 'the server ends at its cap',
    verdict: 'fault',
    without({ cap, page }) {
      if (page.by === 'bulkJob') return 'one file has all rows';
      if (page.by === 'keyset') return 'each page is a request with a cap of its own';
      return cap === undefined ? 'the API has no cap' : null;
    },
    behaviour: ({ api: { cap = 0 }, copy }) => ({ cap, before: beyond(cap, copy) }),
    cure: 'So many rows as the cap may be all rows or not. Fail, or split the read.',
  },
  {
    title: 'tokens are 0 and empty',
    verdict: 'whole',
    without: ({ page }) => (page.by === 'cursor' || page.by === 'graphql' ? null : 'there are no tokens'),
    behaviour: () => ({ tokens: ['0', ''] }),
    cure: 'Only a token that is absent or null ends the pages.',
  },
  {
    title: 'the job fails',
    verdict: 'fault',
    without: ({ page }) => (page.by === 'bulkJob' ? null : 'there is no job'),
    behaviour: () => ({
      edit(parts) {
        parts.more = true;
      },
    }),
    cure: 'Only the state of success ends a job.',
  },
  {
    title: 'the file of the job lacks its last lines',
    verdict: 'fault',
    without: ({ page }) => (page.by === 'bulkJob' ? null : 'there is no job'),
    behaviour: () => ({
      edit(parts) {
        parts.rows = parts.rows.slice(0, -2);
      },
    }),
    cure: 'Declare where the server states the number of lines (`page.count`), and compare it.',
  },
];

/** Gives the server more rows than a limit. */
function beyond(limit: number, copy: TrapSetup['copy']) {
  return (page: number, rows: ApiRows): void => {
    const [first] = rows.there();
    if (page !== 1 || first === undefined) return;
    for (let number = 1; rows.there().length <= limit; number += 1) rows.add(copy(first.fields, number), 'last');
  };
}
