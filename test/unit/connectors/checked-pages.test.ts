import { describe, expect, it, vi } from 'vitest';
import { checkedPages } from '../../../src/daemon/sources/checked-pages.ts';
import type { ReadMode } from '../../../src/domain/ports/source.ts';

async function* given(pages: readonly unknown[]): AsyncGenerator<never> {
  for (const page of pages) yield page as never;
}

async function read(pages: readonly unknown[], mode: ReadMode = 'snapshot'): Promise<unknown[]> {
  const from = { connector: 'own', stream: 'parts', mode, signal: new AbortController().signal };
  const seen: unknown[] = [];
  for await (const page of checkedPages(given(pages), from)) seen.push(page);
  return seen;
}

const row = (fields: object) => ({ fields, place: { line: 1 } });
const page = (fields: object) => ({ rows: [row(fields)] });

describe('a page of a connector', () => {
  it('a page of a connector is passed on as it is', async () => {
    const pages = [
      page({ id: 1, a: [null, { b: 'x' }], c: true }),
      { rows: [], nothingNew: undefined, cursor: { at: 1 } },
    ];
    expect(await read(pages)).toEqual(pages);
  });

  it('a tombstone, and a page that says that the changes begin again, are passed on as they are', async () => {
    const changes = [
      { rows: [{ ...row({ id: 1 }), isGone: true }, row({ id: 2 })], cursor: 1 },
      { rows: [], beginAgain: 'The position is lost.' },
    ];
    expect(await read(changes, 'changes')).toEqual(changes);
    const odd = await read([{ rows: [{ ...row({ id: Number.NaN }), isGone: true }], cursor: 1 }], 'changes');
    expect(odd).toMatchObject([{ rows: [{ fields: { id: 'NaN' }, isGone: true, issues: [{ code: 'row.value' }] }] }]);
  });

  it('warnings that are no list of texts end the read', async () => {
    const good = { rows: [], warnings: ['The file is old.'] };
    expect(await read([good])).toEqual([good]);
    for (const warnings of ['text', [1], [null], {}]) {
      await expect(read([{ rows: [], warnings }])).rejects.toThrow('gave warnings that are no list of texts');
    }
  });

  it.each([
    ['a date', { when: new Date(0) }, 'a Date', '1970-01-01T00:00:00.000Z'],
    ['a map', { when: new Map() }, 'a Map', 'a Map'],
    ['no number', { when: Number.NaN }, 'NaN', 'NaN'],
    ['an undefined value', { when: undefined }, 'undefined', 'undefined'],
    ['a big number', { when: 12n }, 'a bigint', '12'],
    ['a function within a list', { when: [() => 1] }, 'a function', 'a Array'],
  ])('a page of a connector with %s has a quarantined row with its key', async (_, fields, what, kept) => {
    expect(await read([page({ id: '1', ...fields })])).toMatchObject([
      {
        rows: [
          {
            fields: { id: '1', when: kept },
            issues: [
              {
                code: 'row.value',
                field: 'when',
                message: `The connector gave ${what} for when, but no export can have such a value.`,
              },
            ],
          },
        ],
      },
    ]);
  });

  it('a page of a connector with a value that holds itself is quarantined too', async () => {
    const list: unknown[] = [];
    list.push(list);
    expect(await read([page({ list })])).toMatchObject([{ rows: [{ issues: [{ code: 'row.value' }] }] }]);
  });

  it.each<[string, unknown[], ReadMode, string]>([
    ['no object', [null], 'snapshot', 'a page without rows'],
    ['without rows', [{}], 'snapshot', 'a page without rows'],
    ['with a row without a place', [{ rows: [{ fields: {} }] }], 'snapshot', 'a row without an object `place`'],
    ['with a row that is null', [{ rows: [row({}), null] }], 'snapshot', 'a row without an object `fields` at place 2'],
    ['with an issue that is a text', [{ rows: [{ ...row({}), issues: ['No.'] }] }], 'snapshot', 'a row whose `issues`'],
    ['with progress in words', [{ rows: [], progress: 'half' }], 'snapshot', 'progress that is not'],
    ['of changes without a cursor', [page({})], 'changes', 'changes without a cursor'],
    [
      'with a cursor that cannot be stored',
      [{ rows: [], cursor: () => 1 }],
      'changes',
      'a cursor that is not a JSON value',
    ],
    [
      'of changes with an end that is no sentence',
      [{ rows: [], beginAgain: true }],
      'changes',
      '`beginAgain` that is no',
    ],
    ['with rows beside `beginAgain`', [{ ...page({}), beginAgain: 'No.' }], 'changes', '`beginAgain` that is no'],
    ['with a row that may be gone', [{ rows: [{ ...row({}), isGone: 'yes' }] }], 'snapshot', 'a row whose `isGone`'],
    [
      'that is empty behind another one',
      [page({}), { rows: [], nothingNew: true }],
      'snapshot',
      'rows together with `nothingNew: true`',
    ],
  ])('a page of a connector that breaks the contract ends the read: %s', async (_, pages, mode, says) => {
    await expect(read(pages, mode)).rejects.toMatchObject({
      code: 'source.unreadable',
      message: expect.stringContaining(`The connector own gave ${says}`),
    });
  });
});

it('a read whose pages have been empty for too long is ended', async () => {
  const empty = (count: number) => Array.from({ length: count }, () => ({ rows: [] }));
  const few = [...empty(9_999), page({ id: 1 }), ...empty(9_999)];
  expect(await read(few)).toHaveLength(few.length);
  async function* endless(): AsyncGenerator<never> {
    for (let at = 0; ; at++) yield { rows: [], cursor: { at } } as never;
  }
  const from = { connector: 'own', stream: 'parts', mode: 'changes' as const, signal: new AbortController().signal };
  const all = async () => {
    for await (const { rows } of checkedPages(endless(), from)) expect(rows).toEqual([]);
  };
  await expect(all()).rejects.toMatchObject({
    code: 'source.unreadable',
    message: 'The connector own gave 10000 successive pages without a row for the stream parts.',
  });
});

it('a read waits only so long for a connector that does not stop', async () => {
  vi.useFakeTimers();
  try {
    const stopping = new AbortController();
    const never: AsyncIterable<never> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => {}),
        return: () => new Promise<never>(() => {}),
      }),
    };
    const from = { connector: 'own', stream: 'parts', mode: 'snapshot' as const, signal: stopping.signal };
    const pages = checkedPages(never, from);
    const next = pages.next().catch((error: unknown) => error);
    stopping.abort();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await next).toMatchObject({ message: 'The connector own did not stop within 5 s.' });
  } finally {
    vi.useRealTimers();
  }
});
