// Answers that a hostile or broken server could give.

import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { idsOf, readFrom } from '../../../support/rest/read-from.ts';
import type { RestReply } from '../../../support/rest/rest-server.ts';

const ITEMS = { get: 'items', rows: '$.items', page: { by: 'none' } };
const LIMITS = { perSecond: 1000, attempts: 2 };
const fault = (text: string) => ({ code: 'source.unreadable', message: expect.stringContaining(text) });
const read = (reply: RestReply, limits: object = {}) =>
  readFrom(() => reply, ITEMS, { options: { limits: { ...LIMITS, ...limits } } });

// The waits between attempts are random.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

describe('an answer that is damaged', () => {
  it('is requested again if the connection is cut in the middle', async () => {
    const { rows, error, calls } = await readFrom(
      (_call, { length }) =>
        length === 1 ? { unfinished: '{"items":[{"id":1},', cut: true } : { body: { items: [{ id: 1 }] } },
      ITEMS,
    );
    expect([error, idsOf(rows), calls.length]).toEqual([null, [1], 2]);
  });

  it('is requested again if it is no JSON, and is an error if it stays so', async () => {
    const { error, calls } = await read({ text: '<html>Login</html>' });
    expect(error).toMatchObject(fault('was answered with something that is not JSON: <html>Login</html>'));
    expect(calls).toHaveLength(2);
  });

  it('is an error if it is not UTF-8', async () => {
    const { error } = await read({ bytes: Buffer.from('{"items":[{"id":1,"name":"M\xfcller"}]}', 'latin1') });
    expect(error).toMatchObject(fault('is not UTF-8'));
  });

  it('is asked for without compression, and is an error if it is compressed nevertheless', async () => {
    const { error, calls } = await read({ bytes: gzipSync('{"items":[]}') });
    expect(error).toMatchObject(fault('page 1 of items is compressed with gzip'));
    expect(calls[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('may be in any encoding if it reports a failure, which is no reason to give up', async () => {
    const busy = { status: 503, bytes: Buffer.from('\xdcberlastet', 'latin1') };
    const { error, rows } = await readFrom(
      (_call, { length }) => (length === 1 ? busy : { body: { items: [{ id: 1 }] } }),
      ITEMS,
    );
    expect([error, idsOf(rows)]).toEqual([null, [1]]);
  });

  it('is an error if it is larger than `limits.answerBytes`', async () => {
    const { error, calls } = await read(
      { body: { items: [{ id: 1, text: 'x'.repeat(2_000) }] } },
      { answerBytes: 1_000 },
    );
    expect(error).toMatchObject(fault('has more than 1000 bytes'));
    expect(calls).toHaveLength(1);
  });

  it.each(['null', '5', '"text"'])('is an error if it is only the value %s', async (text) => {
    const { error } = await read({ text });
    expect(error).toMatchObject(fault(`has no list at $.items. It has only ${text}.`));
  });

  it('is an error if its list is absent, and the message names a few members only', async () => {
    const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`member${at}`, at]));
    const { error } = await read({ body: members });
    expect(error).toMatchObject(fault('has no list at $.items. It has member0, member1'));
    expect(error?.message.length).toBeLessThan(1_000);
  });

  it.each([
    [null, '$.items', 'has null in place of a list at $.items.'],
    [{ '1': 'x' }, '$.items[*].lines', 'has {"1":"x"} in place of a list at $.items[*].lines.'],
  ])('is an error if it has %j in place of the list', async (items, rows, text) => {
    const { error } = await readFrom(() => ({ body: { items } }), { ...ITEMS, rows });
    expect(error).toMatchObject(fault(text));
  });

  it.each([
    [204, 'was answered with 204 (no content), so there is no list in the answer'],
    [304, 'was answered with 304 (not modified), which has no content'],
    [300, 'was refused with 300'],
  ])('is an error with the status %i, which no second attempt changes', async (status, text) => {
    const { error, calls } = await read({ status, text: '' });
    expect(error).toMatchObject(fault(text));
    expect(calls).toHaveLength(1);
  });
});

describe('an answer with odd values', () => {
  it('keeps numbers that JavaScript would round, as text', async () => {
    const { rows } = await read({ text: '{"items":[{"id":9007199254740993,"price":0.1,"big":1e400}]}' });
    expect(rows[0]?.fields).toEqual({ id: '9007199254740993', price: 0.1, big: '1e400' });
  });

  it('keeps members with the names of inherited ones', async () => {
    const { rows } = await read({ text: '{"items":[{"id":1,"__proto__":{"polluted":1},"constructor":"x"}]}' });
    expect(Object.keys(rows[0]?.fields ?? {})).toEqual(['id', '__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('shows a key column with the name of an inherited member as absent', async () => {
    const { rows } = await readFrom(() => ({ body: { items: [{ name: 'x' }] } }), ITEMS, { key: ['constructor'] });
    expect(rows[0]?.place.path).toBe('constructor=null');
  });

  it.each([
    ['lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['lists with a long number', `${'['.repeat(100_000)}12345678901234567890${']'.repeat(100_000)}`],
  ])('is an error if it has too many levels of %s', async (_name, deep) => {
    const { error } = await read({ text: `{"items":[{"id":1,"deep":${deep}}]}` });
    expect(error).toMatchObject(fault('has too many levels of lists and objects in each other'));
  });

  it('gives elements that are no objects as rows with an issue', async () => {
    const { rows } = await read({ body: { items: [{ id: 1 }, 'x', null, [1]] } });
    expect(rows.map(({ issues }) => issues?.[0]?.code)).toEqual([undefined, 'row.object', 'row.object', 'row.object']);
  });

  it('recognises a row without its key by its content', async () => {
    const stream = {
      get: 'items',
      rows: '$.items',
      page: { by: 'cursor', cursor: '$.next', query: { c: '{{cursor}}' } },
    };
    const { rows } = await readFrom(
      (_call, { length }) => ({
        body: { items: [{ name: 'a' }, { name: `b${length}` }], next: length === 1 ? 'c' : null },
      }),
      stream,
    );
    expect(rows.map(({ fields }) => fields['name'])).toEqual(['a', 'b1', 'b2']);
  });

  it('gives a row of many megabytes, in a page of its own', async () => {
    const big = Object.fromEntries(
      Array.from({ length: 150_000 }, (_, at) => [`member-with-a-name-${at}`, 'some text']),
    );
    const { rows, pages, error } = await read({ body: { items: [{ id: 1, ...big }, { id: 2 }] } });
    expect([error, rows.length, pages[0]?.rows.length]).toEqual([null, 2, 1]);
  });
});

it('fails if the answer redirects, because another server would get the login', async () => {
  const { error } = await read({ status: 302, headers: { location: 'https://evil.example.com/items' } });
  expect(error).toMatchObject(fault('was redirected (302 to https://evil.example.com)'));
});

it.each([
  [401, 'Check `auth`'],
  [403, 'Check `auth`'],
  [404, 'Check `base` and the path'],
  [422, 'Correct the request of the stream'],
])('fails with the text of the server for %i, and says what to check', async (status, cure) => {
  const { error } = await read({ status, body: { error: 'Field "x" is unknown' } });
  expect(error).toMatchObject(fault(`was refused with ${status}: {"error":"Field \\"x\\" is unknown"}`));
  expect(error?.suggestion).toContain(cure);
});

it('reports what an API says with a good status', async () => {
  const failure = { at: '$.errors' };
  const options = { limits: LIMITS, failure };
  const { error } = await readFrom(() => ({ body: { errors: [{ message: 'Unknown field' }], items: [] } }), ITEMS, {
    options,
  });
  expect(error).toMatchObject(fault('was refused: [{"message":"Unknown field"}]'));
});

it('a short value of a header is not removed from messages', async () => {
  const options = { limits: LIMITS, headers: { 'X-Inheritance': '1' } };
  const { error } = await readFrom(() => ({ status: 411, text: 'no' }), ITEMS, { options });
  expect(error).toMatchObject(fault('page 1 of items was refused with 411: no'));
});
