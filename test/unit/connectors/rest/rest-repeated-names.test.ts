// Answers with an object that has a name twice. A parser only keeps the last of the two values.

import { describe, expect, it } from 'vitest';
import type { SourceRow } from '../../../../src/sdk/index.ts';
import { idsOf, readFrom, withAnswers } from '../../../support/rest/read-from.ts';

const ITEMS = { get: 'items', rows: '$.items', page: { by: 'none' } };
const codesOf = (rows: readonly SourceRow[]) =>
  rows.map(({ issues }) => issues?.map(({ code, field }) => `${code} ${field}`));

describe('a name that an object has twice', () => {
  it.each([
    ['the row', '{"id": 2, "name": "a", "name": "b"}'],
    ['an object in the row', '{"id": 2, "parts": [{"name": "a", "x": {"name": 1}, "name": "b"}]}'],
    ['an object that is repeated itself', '{"id": 2, "name": {"name": 1, "name": 2}, "name": []}'],
    ['the row, once with an escape', '{"id": 2, "name": "\\"name\\": ", "n\\u0061me": "b"}'],
  ])('is an issue of its row if it is in %s, and the other rows are read', async (_, row) => {
    const { rows, error } = await readFrom(
      () => ({ text: `{"items": [{"id": 1, "name": "\\\\"}, ${row}, {"id": 3, "x": {"id": 4}}]}` }),
      ITEMS,
    );
    expect([error, idsOf(rows)]).toEqual([null, [1, 2, 3]]);
    expect(codesOf(rows)[0]).toBeUndefined();
    expect(new Set(codesOf(rows)[1])).toEqual(new Set(['row.duplicate name']));
    expect(codesOf(rows)[2]).toBeUndefined();
  });

  it('stops the read if it is in no row, since the pages may depend on it', async () => {
    const { rows, error } = await readFrom(
      () => ({ text: '{"items": [{"id": 1}], "a": {"next": null, "next": 2}}' }),
      ITEMS,
    );
    expect(rows).toEqual([]);
    expect(error?.message).toBe(
      'The answer for page 1 of items has the name "next" twice in the object at $.a, so it is not certain which value is right. The read is incomplete, so no record counts as gone.',
    );
  });

  it('is no tombstone, since another key may be meant', async () => {
    const changes = { by: '$.at', gone: { at: '$.deleted', key: { id: '$.id' } }, query: { since: '{{since}}' } };
    const headers = { date: 'Mon, 01 Jun 2026 12:00:00 GMT' };
    const gone = '"deleted": true, "at": "2026-06-01T12:00:00Z"';
    const text = `{"items": [{"id": 1, "id": 2, ${gone}}, {"id": 3, ${gone}}]}`;
    await withAnswers(
      ({ query }) => ({ headers, ...(query.has('since') ? { text } : { body: { items: [{ id: 1 }] } }) }),
      async (read) => {
        const { cursor = null } = await read({ ...ITEMS, changes });
        const { rows, error } = await read({ ...ITEMS, changes }, { mode: 'changes', cursor });
        expect([error, codesOf(rows)]).toEqual([null, [['row.duplicate id'], undefined]]);
        expect(rows.map(({ isGone }) => isGone)).toEqual([undefined, true]);
      },
    );
  });

  it('is an issue of the child in whose object it is, or of the row that has the children', async () => {
    const answer = ({ path }: { path: string }) =>
      path === '/items'
        ? { body: { items: [{ id: 1 }] } }
        : { text: '{"lines": [{"line": 1, "part": "A", "part": "B"}, {"line": 2, "part": "C"}]}' };
    const each = { get: 'items/{{row.id}}', rows: '$.lines' };
    const children = await readFrom(
      answer,
      { ...ITEMS, each: { ...each, parent: { id: '$.id' } } },
      { key: ['id', 'line'] },
    );
    expect([children.error, codesOf(children.rows)]).toEqual([null, [['row.duplicate part'], undefined]]);
    const into = await readFrom(answer, { ...ITEMS, each: { ...each, into: 'lines' } });
    expect([into.error, codesOf(into.rows)]).toEqual([null, [['row.duplicate part']]]);
  });

  it('stops the read if it is around the children', async () => {
    const { error } = await readFrom(
      ({ path }) =>
        path === '/items' ? { body: { items: [{ id: 1 }] } } : { text: '{"lines": [{"line": 1}], "lines": []}' },
      { ...ITEMS, each: { get: 'items/{{row.id}}', rows: '$.lines', parent: { id: '$.id' } } },
      { key: ['id', 'line'] },
    );
    expect(error?.message).toContain('/items/1 (`each` of items) has the name "lines" twice in the object at $,');
  });
});
