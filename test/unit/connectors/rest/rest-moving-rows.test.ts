// Rows that are added, removed and changed between any two requests of a read.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import { readRest } from '../../../support/rest/read-rest.ts';
import { type RestCall, type RestServer, startRestServer } from '../../../support/rest/rest-server.ts';

interface Row {
  id: number;
  version: number;
}

/** What happens to the rows after an answer. */
type Event = { kind: 'add' | 'remove' | 'change'; at: number };

const Events = fc.array(
  fc.record({ kind: fc.constantFrom('add' as const, 'remove' as const, 'change' as const), at: fc.nat(1_000) }),
  { maxLength: 4 },
);

/** The rows of a server in the order of their ids. */
function createRows(count: number) {
  let rows: Row[] = Array.from({ length: count }, (_, at) => ({ id: 1_000 * (at + 1), version: 1 }));
  const lasting = new Set(rows.map(({ id }) => id));
  return {
    all: (): readonly Row[] => rows,
    /** The rows that were there all the time. */
    lasting,
    happens({ kind, at }: Event): void {
      const row = rows[at % Math.max(rows.length, 1)];
      if (kind === 'add') {
        const id = Math.floor((at / 1_000) * 1_000 * (count + 1)) + 1;
        if (!rows.some((one) => one.id === id)) rows = [...rows, { id, version: 1 }].toSorted((a, b) => a.id - b.id);
      } else if (row !== undefined && kind === 'remove') {
        rows = rows.filter((one) => one !== row);
        lasting.delete(row.id);
      } else if (row !== undefined)
        rows = rows.map((one) => (one === row ? { ...one, version: one.version + 1 } : one));
    },
  };
}

type Answer = (call: RestCall, rows: readonly Row[]) => unknown;
const number = ({ query }: RestCall, name: string): number => Number(query.get(name));
const afterId = (rows: readonly Row[], id: number, size: number) => rows.filter((row) => row.id > id).slice(0, size);

/** Each kind of paging as a server understands it, and the stream that reads it. */
const PAGINGS: Record<string, { stream: (size: number) => object; answer: Answer }> = {
  offset: {
    stream: (size) => ({
      query: { skip: '{{offset}}', top: '{{size}}' },
      rows: '$.rows',
      page: { by: 'offset', size },
    }),
    answer: (call, rows) => ({ rows: rows.slice(number(call, 'skip'), number(call, 'skip') + number(call, 'top')) }),
  },
  'offset with a total': {
    stream: (size) => ({
      query: { skip: '{{offset}}', top: '{{size}}' },
      rows: '$.rows',
      page: { by: 'offset', size, end: 'total', total: '$.total' },
    }),
    answer: (call, rows) => ({
      rows: rows.slice(number(call, 'skip'), number(call, 'skip') + number(call, 'top')),
      total: rows.length,
    }),
  },
  page: {
    stream: (size) => ({
      query: { page: '{{page}}', size: '{{size}}' },
      rows: '$.rows',
      page: { by: 'page', size, total: '$.total' },
    }),
    answer: (call, rows) => {
      const end = number(call, 'page') * number(call, 'size');
      return { rows: rows.slice(end - number(call, 'size'), end), total: rows.length };
    },
  },
  'page with a flag': {
    stream: (size) => ({
      query: { page: '{{page}}', size: '{{size}}' },
      rows: '$.rows',
      page: { by: 'page', first: 0, size, end: 'flag', more: '$.more', total: '$.total' },
    }),
    answer: (call, rows) => {
      const begin = number(call, 'page') * number(call, 'size');
      const end = begin + number(call, 'size');
      return { rows: rows.slice(begin, end), total: rows.length, more: end < rows.length };
    },
  },
  keyset: {
    stream: (size) => ({
      query: { top: '{{size}}' },
      rows: '$.rows',
      page: { by: 'keyset', after: '$.id', size, query: { after: '{{after}}' } },
    }),
    answer: (call, rows) => ({ rows: afterId(rows, number(call, 'after'), number(call, 'top')) }),
  },
  cursor: {
    stream: (size) => ({
      query: { top: String(size) },
      rows: '$.rows',
      page: { by: 'cursor', cursor: '$.next', query: { cursor: '{{cursor}}' } },
    }),
    answer: (call, rows) => {
      const found = afterId(rows, number(call, 'cursor'), number(call, 'top'));
      const last = found.at(-1)?.id;
      return { rows: found, next: last === rows.at(-1)?.id ? null : last };
    },
  },
};

async function readWhileRowsMove(
  { stream, answer }: { stream: object; answer: Answer },
  { count, events }: { count: number; events: readonly (readonly Event[])[] },
) {
  const rows = createRows(count);
  const server: RestServer = await startRestServer((call) => {
    const body = answer(call, rows.all());
    for (const event of events[(server.calls.length - 1) % events.length] ?? []) rows.happens(event);
    return { body };
  });
  try {
    const settings = {
      options: { base: server.base, limits: { perSecond: 1_000 } },
      stream: { get: 'rows', ...stream },
    };
    return { ...(await readRest(rest, settings)), lasting: rows.lasting };
  } finally {
    await server.close();
  }
}

it.each(Object.entries(PAGINGS))(
  'a read by %s that ends has given each row that was there all the time, and none twice',
  async (_name, { stream, answer }) => {
    let ended = 0;
    const cases = fc.record({
      count: fc.integer({ min: 0, max: 40 }),
      size: fc.integer({ min: 2, max: 12 }),
      events: fc.array(Events, { minLength: 1, maxLength: 8 }),
    });
    const property = fc.asyncProperty(cases, async ({ count, size, events }) => {
      const { rows, error, lasting } = await readWhileRowsMove({ stream: stream(size), answer }, { count, events });
      if (error !== null) {
        expect(error).toMatchObject({ code: 'source.unreadable' });
        return;
      }
      ended += 1;
      const ids = rows.map(({ fields }) => Number(fields['id']));
      expect(new Set(ids).size).toBe(ids.length);
      expect([...lasting].filter((id) => !ids.includes(id))).toEqual([]);
    });
    await fc.assert(property, { numRuns: 80 });
    // Without this, a connector that always fails would pass.
    expect(ended).toBeGreaterThan(20);
  },
);
