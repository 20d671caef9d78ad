// Attempts, waits and their bounds, and what stops them.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import { systemClock } from '../../../../src/lib/clock.ts';
import { createRequestPace } from '../../../../src/sdk/rest/request-pace.ts';
import { idsOf, readFrom } from '../../../support/rest/read-from.ts';
import { type RestReply, startRestServer } from '../../../support/rest/rest-server.ts';

const ITEMS = { get: 'items', page: { by: 'none' } };
const GOOD = { body: [{ id: 1 }] };
const fault = (text: string) => ({ code: 'source.unreadable', message: expect.stringContaining(text) });

beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

describe('a request that fails', () => {
  it.each([408, 425, 500, 502, 503, 504])('is tried again after %i', async (status) => {
    const { rows, error, calls } = await readFrom((_call, { length }) => (length < 3 ? { status } : GOOD), ITEMS);
    expect([error, idsOf(rows), calls.length]).toEqual([null, [1], 3]);
  });

  it('is an error after `limits.attempts`, which names the answer', async () => {
    const options = { limits: { perSecond: 1000, attempts: 3 } };
    const { error, calls } = await readFrom(() => ({ status: 502, text: 'Bad gateway' }), ITEMS, { options });
    expect(error).toMatchObject(fault('The request for page 1 of items was answered with 502: Bad gateway'));
    expect(calls).toHaveLength(3);
  });

  it('is tried again if its answer takes too long as a whole, although the server is not silent', async () => {
    const options = { limits: { perSecond: 1000, attempts: 2, answerMs: 100 } };
    const { error, calls } = await readFrom(() => ({ unfinished: '[{"id":1},' }), ITEMS, { options });
    expect(error).toMatchObject(fault('was not complete after 100 ms (`limits.answerMs`)'));
    expect(calls).toHaveLength(2);
  });

  it('is not tried again with `onError: incomplete`', async () => {
    const { error, calls } = await readFrom(() => ({ status: 500 }), { ...ITEMS, onError: 'incomplete' });
    expect(error).toMatchObject(fault('was answered with 500'));
    expect(calls).toHaveLength(1);
  });

  it('begins the read again with `onError: restart`, up to three times', async () => {
    const stream = { ...ITEMS, onError: 'restart' };
    const good = await readFrom((_call, { length }) => (length < 3 ? { status: 500 } : GOOD), stream);
    expect([good.error, idsOf(good.rows), good.calls.length]).toEqual([null, [1], 3]);
    expect(good.warnings.join()).toContain('was read again from its first page, because');
    const bad = await readFrom(() => ({ status: 500 }), stream);
    expect(bad.error).toMatchObject(fault('was answered with 500'));
    expect(bad.calls).toHaveLength(3);
  });
});

describe('a request that was refused because there were too many', () => {
  const now = new Date(Date.UTC(2026, 0, 1)).toUTCString();
  it.each([
    ['seconds', { 'retry-after': '0' }],
    ['a date', { 'retry-after': now, date: now }],
    ['nothing', {}],
  ])('is sent again after a wait that the server states as %s', async (_name, headers) => {
    const { rows, error, calls } = await readFrom(
      (_call, { length }): RestReply => (length === 1 ? { status: 429, headers } : GOOD),
      ITEMS,
    );
    expect([error, idsOf(rows), calls.length]).toEqual([null, [1], 2]);
  });

  it.each([429, 503])('fails at once if the server asks for a longer wait than `limits.wait` (%i)', async (status) => {
    const options = { limits: { perSecond: 1000, wait: '1m' } };
    const { error, calls } = await readFrom(() => ({ status, headers: { 'retry-after': '3600' } }), ITEMS, { options });
    expect(error).toMatchObject(
      fault(`was refused because of too many requests (${status}), and the waits would be longer than 1 minute in all`),
    );
    expect(calls).toHaveLength(1);
  });

  it('waits for `limits.wait` in all, with the waits for the pace that refusals have made slower', async () => {
    let now = 0;
    vi.spyOn(systemClock, 'ticks').mockImplementation(() => now);
    vi.spyOn(systemClock, 'sleep').mockImplementation(async (ms) => void (now += ms));
    const options = { limits: { perSecond: 1000, wait: '2m' } };
    const { error } = await readFrom(() => ({ status: 429, headers: { 'retry-after': '0' } }), ITEMS, { options });
    expect(error).toMatchObject(fault('the waits would be longer than 2 minutes in all'));
    expect(now).toBeLessThanOrEqual(120_000);
  });

  it('does not let later requests wait for longer than the one that has failed', async ({ signal }) => {
    const server = await startRestServer((_call) =>
      server.calls.length === 1 ? { status: 429, headers: { 'retry-after': '3600' } } : GOOD,
    );
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const options = rest.options.parse({ base: server.base, limits: { perSecond: 1000, wait: '1m' } });
    const source = await rest.open(options, { resolvePath: (path) => path, log });
    const request = {
      name: 'items',
      options: rest.streamOptions.parse(ITEMS),
      key: ['id'],
      mode: 'snapshot' as const,
      cursor: null,
    };
    const rows = async () => {
      const found = [];
      for await (const page of source.pull({ ...request, signal })) found.push(...page.rows);
      return found;
    };
    try {
      await expect(rows()).rejects.toThrow('too many requests');
      expect(await rows()).toHaveLength(1);
    } finally {
      await source.close();
      await server.close();
    }
  });

  it('is sent again if a good status has a code that says so', async () => {
    const failure = { at: '$.errors', again: { at: '$.errors[0].code', is: ['THROTTLED'] } };
    const options = { limits: { perSecond: 1000 }, failure };
    const { rows, error } = await readFrom(
      (_call, { length }) =>
        length === 1
          ? { headers: { 'retry-after': '0' }, body: { errors: [{ code: 'THROTTLED' }] } }
          : { body: { items: [{ id: 1 }] } },
      { ...ITEMS, rows: '$.items' },
      { options },
    );
    expect([error, idsOf(rows)]).toEqual([null, [1]]);
  });
});

describe('a stop', () => {
  const never = () => new Promise<RestReply>(() => undefined);
  it.each<[string, 'call' | 'answer', () => RestReply | Promise<RestReply>]>([
    ['while the server does not answer', 'call', never],
    ['while an answer is downloaded', 'call', () => ({ unfinished: '[{"id":1},' })],
    ['while it waits because of a 429', 'answer', () => ({ status: 429, headers: { 'retry-after': '600' } })],
    ['while it waits for another attempt', 'answer', () => ({ status: 500 })],
  ])('ends the read at once %s', async (_name, when, answer) => {
    vi.mocked(Math.random).mockReturnValue(0.999);
    const reason = new Error('stopped');
    const abort = new AbortController();
    const stopAt = (what: string) => void (what === when && setImmediate(() => abort.abort(reason)));
    const server = await startRestServer(() => {
      stopAt('call');
      return answer();
    });
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const host = { resolvePath: (path: string) => path, log, onExchange: () => stopAt('answer') };
    const options = rest.options.parse({ base: server.base, limits: { perSecond: 1000 } });
    const source = await rest.open(options, host);
    const request = {
      name: 'items',
      options: rest.streamOptions.parse(ITEMS),
      key: ['id'],
      mode: 'snapshot' as const,
      cursor: null,
    };
    const read = async () => {
      for await (const _ of source.pull({ ...request, signal: abort.signal }));
    };
    try {
      await expect(read()).rejects.toBe(reason);
      expect(server.calls).toHaveLength(1);
    } finally {
      await source.close();
      await server.close();
    }
  });

  it('gives no further page', async () => {
    const many = Array.from({ length: 5_000 }, (_, id) => ({ id }));
    const reason = new Error('stopped');
    const abort = new AbortController();
    const { error, pages } = await readFrom(() => ({ body: many }), ITEMS, {
      signal: abort.signal,
      onPage: () => abort.abort(reason),
    });
    expect([error, pages.length]).toEqual([reason, 1]);
  });
});

describe('the pace', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** When requests begin, in milliseconds, if each of them is answered at once. */
  async function begins(count: number, after: (pace: ReturnType<typeof createRequestPace>, at: number) => void) {
    const pace = createRequestPace({ concurrent: 4, perSecond: 10 });
    const found: number[] = [];
    const first = performance.now();
    const { signal } = new AbortController();
    for (let at = 0; at < count; at += 1) {
      const begun = pace.run(async () => void found.push(Math.round(performance.now() - first)), signal);
      await vi.runAllTimersAsync();
      await begun;
      after(pace, at);
    }
    return found;
  }

  it('is that of the config at first', async () => {
    expect(await begins(4, (pace) => pace.answered())).toEqual([0, 100, 200, 300]);
  });

  it('is halved by a refusal, and comes back with good answers', async () => {
    const found = await begins(60, (pace, at) => (at === 0 ? pace.refused(0) : pace.answered()));
    const gaps = found.slice(1).map((one, at) => one - (found[at] ?? 0));
    expect(gaps[0]).toBe(200);
    expect(gaps[1]).toBeGreaterThan(150);
    expect(gaps.at(-1)).toBe(100);
    expect(gaps.every((gap, at) => at === 0 || gap <= (gaps[at - 1] ?? 0) + 1)).toBe(true);
  });

  it('lets no request begin before the wait of a refusal is over', async () => {
    expect(await begins(2, (pace) => pace.refused(5_000))).toEqual([0, 5_000]);
  });
});
