import {
  type Connector,
  defineConnector,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Page,
  parseExactly,
  type SourceRow,
  secret,
  z,
} from '../../../../src/sdk/index.ts';
import type { RestApi, RestFixtures } from '../../../../src/sdk/testing/index.ts';
import { type Ask, CLOSE, createAsk } from './ask.ts';
import {
  CAP,
  END_EARLY,
  Forgotten,
  fail,
  Moved,
  NoAnswer,
  type Reader,
  type RestFlaw,
  type RestKind,
  SIZE,
  textOf,
} from './flaws.ts';
import { readRows } from './pass.ts';

const ROWS = Array.from({ length: 35 }, (_, at) => ({ id: at + 1, name: `Part ${at + 1}` }));

const KINDS: Record<RestKind, Omit<RestApi, 'path' | 'rows'>> = {
  none: { page: { by: 'none', size: CAP } },
  delta: {
    page: { by: 'nextLink', next: '$.next', size: SIZE },
    total: '$.total',
    login: { path: '/token', answer: (token) => ({ token }) },
    changes: { deltaLink: '$.delta', gone: ({ id }) => ({ id: id ?? null, gone: true }) },
  },
  cursor: {
    page: { by: 'cursor', at: '$.query.cursor', next: '$.next', more: '$.more', size: SIZE },
    cap: CAP,
    restarts: true,
  },
  page: { page: { by: 'page', at: '$.query.page', size: SIZE }, total: '$.total' },
  keyset: {
    page: { by: 'keyset', at: '$.query.after', after: '$.id', size: SIZE },
    changes: { since: '$.query.since' },
  },
  bulk: {
    page: {
      by: 'bulkJob',
      status: '/jobs',
      job: '$.id',
      state: '$.state',
      done: 'DONE',
      result: '$.url',
      count: '$.count',
    },
  },
};

export function flawedFixtures(kind: RestKind): RestFixtures {
  return {
    settings: (base) => ({ options: { base }, key: ['id'] }),
    api: { path: '/items', rows: '$.items', ...KINDS[kind] },
    records: ROWS,
  };
}

/** A connector for REST APIs that gives each row once or fails, with at most one flaw. */
export function flawedRest(kind: RestKind, flaw: RestFlaw | null): Connector {
  const reader: Reader = {
    kind,
    has: (name) => flaw === name,
    hasOneOf: (flaws) => flaw !== null && flaws.includes(flaw),
  };
  return defineConnector({
    id: 'flawed-rest',
    title: 'A reader of REST APIs',
    reads: kind === 'delta' || kind === 'keyset' ? 'changes-and-snapshot' : 'snapshot',
    options: z.strictObject({
      base: z.string().describe('The address.'),
      token: (flaw === 'shows its token' ? z.string() : secret()).optional().describe('Has no effect.'),
    }),
    streamOptions: z.strictObject({}),
    async open({ base }) {
      const ask = createAsk(base, reader);
      return {
        check: async () => ({ found: 'an API' }),
        async *pull({ mode, cursor, signal }) {
          try {
            if (kind === 'bulk') yield { rows: (await readJob(ask, reader, signal)).map(rowOf) };
            else if (mode === 'changes') yield await changes(ask, reader, { cursor, signal });
            else yield await snapshot(ask, reader, signal);
          } catch (error) {
            throw error instanceof Forgotten ? fail('The list is not there.') : error;
          }
        },
        close: async () => {},
      };
    },
  });
}

const PASSES_MAX = 3;
const OVERLAP_MS = 300_000;

async function snapshot(ask: Ask, reader: Reader, signal: AbortSignal): Promise<Page> {
  const { kind, has } = reader;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { rows, begun, ended, delta } = await readRows(ask, reader, { first: '/items', signal, isChanges: false });
      const page = { rows: rows.map(rowOf) };
      if (kind === 'keyset') {
        const end = has('asks from the end of the last read')
          ? ended
          : begun - (has('asks from the beginning of the last read') ? 0 : OVERLAP_MS);
        return { ...page, cursor: { since: has('asks by its own clock') ? Date.now() : end } };
      }
      const hasCursor = kind === 'delta' && (delta !== undefined || has('a lost delta link is nothing new'));
      return hasCursor ? { ...page, cursor: { link: delta ?? null } } : page;
    } catch (error) {
      if (!(error instanceof Moved) && !(error instanceof NoAnswer)) throw error;
      if (attempt === PASSES_MAX) throw fail('The rows move each time, or no answer comes.');
    }
  }
}

async function changes(
  ask: Ask,
  reader: Reader,
  { cursor, signal }: { cursor: JsonValue; signal: AbortSignal },
): Promise<Page> {
  const { kind, has, hasOneOf } = reader;
  const { link = null, since } = isJsonObject(cursor) ? cursor : {};
  if (kind === 'delta' && link === null) return { rows: [], cursor };
  const first = kind === 'keyset' ? `/items?since=${new Date(Number(since)).toISOString()}` : textOf(link);
  try {
    const { rows, begun, delta } = await readRows(ask, reader, { first, signal, isChanges: true });
    const given = rows.map(rowOf).filter(({ isGone }) => isGone !== true || !has('leaves out tombstones'));
    if (kind === 'keyset') {
      return { rows: given, cursor: { since: has('goes on after changes by its own clock') ? Date.now() : begun } };
    }
    const isLost = delta === undefined && !hasOneOf([...END_EARLY, 'a lost delta link is nothing new']);
    if (isLost) throw fail('There is no delta link.');
    return { rows: given, cursor: { link: delta ?? null } };
  } catch (error) {
    if (error instanceof Moved) throw fail('Rows of the changes are missing.');
    if (!(error instanceof Forgotten)) throw error;
    if (has('a forgotten link is nothing new')) return { rows: [], cursor };
    return { rows: [], beginAgain: 'The server has forgotten the link.' };
  }
}

async function readJob(ask: Ask, { has }: Reader, signal: AbortSignal): Promise<JsonObject[]> {
  await ask('/items', signal);
  const { document } = await ask('/jobs/1', signal);
  if (document['state'] !== 'DONE') {
    if (has('a failed job has no rows')) return [];
    throw fail('The job has failed.');
  }
  const response = await fetch(textOf(document['url']), { headers: CLOSE, signal });
  const text = await response.text().catch(() => null);
  if (text === null) throw fail('The file is cut.');
  const lines = text.split('\n').filter((line) => line !== '');
  if (lines.length !== document['count'] && !has('does not count lines')) throw fail('Lines are missing.');
  return lines.map((line) => parseExactly(line) as JsonObject);
}

const rowOf = (fields: JsonObject): SourceRow => ({
  fields,
  place: { path: `item ${textOf(fields['id'])}` },
  ...(fields['gone'] === true ? { isGone: true as const } : {}),
});
