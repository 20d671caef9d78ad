import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rest } from '../../../connectors/rest/index.ts';
import type { JsonValue } from '../../../src/sdk/index.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { idsOf, upTo } from '../../support/rest/read-from.ts';
import { readRest } from '../../support/rest/read-rest.ts';
import { type AuthorizationServer, CLIENT, startAuthorizationServer } from './authorization-server.ts';
import { type GraphqlServer, startGraphqlServer } from './graphql-server.ts';

let login: AuthorizationServer;
let api: GraphqlServer;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-oauth-'));
  login = await startAuthorizationServer();
  api = await startGraphqlServer(({ authorization }) => login.admits(authorization));
});
afterAll(async () => {
  await Promise.all([login.close(), api.close()]);
  await removeFolder(folder);
});
beforeEach(() => {
  api.parts = upTo(7).map((id) => ({ id, name: `Part ${id}`, updatedAt: '2026-06-01T12:00:00Z' }));
  api.broken = null;
  api.onPage = null;
  api.pages = [];
});

const QUERY = `query ($first: Int!, $after: String, $filter: PartFilter) {
  parts(first: $first, after: $after, filter: $filter) {
    nodes { id name updatedAt weight } totalCount pageInfo { hasNextPage endCursor }
  }
}`;
const STREAM = {
  get: 'graphql',
  body: { query: QUERY, variables: { first: 3 } },
  page: { by: 'graphql', connection: '$.data.parts', total: '$.data.parts.totalCount' },
  changes: { by: '$.updatedAt', body: { variables: { filter: { updatedSince: '{{since}}' } } } },
  reconcile: '7d',
};
const credentials = () => ({
  by: 'oauth2',
  grant: 'client_credentials',
  tokenUrl: login.tokenUrl,
  clientId: CLIENT.id,
  clientSecret: CLIENT.secret,
});

function read(
  stream: object = STREAM,
  auth: object = credentials(),
  request: { mode?: 'snapshot' | 'changes'; cursor?: JsonValue | null } = {},
) {
  const limits = { perSecond: 1000, attempts: 1 };
  return readRest(rest, { options: { base: api.base, auth, limits, failure: { at: '$.errors' } }, stream }, request);
}

const ALL = upTo(7).map(String);

describe('a connection of a real GraphQL server behind a real authorisation server', () => {
  it.each(['basic', 'body'])('is read to its end with client credentials in the %s of the login', async (client) => {
    const { rows, error } = await read(STREAM, { ...credentials(), client });
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(ALL);
    expect(api.pages.map(({ first, after }) => [first, after !== undefined])).toEqual([
      [3, false],
      [3, true],
      [3, true],
    ]);
  });

  it('is read to its end although the token is withdrawn in the middle', async () => {
    const before = login.requests();
    let at = 0;
    api.onPage = async (_, { authorization }) => {
      at += 1;
      if (at === 2) await login.end(authorization);
    };
    const { rows, error } = await read();
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(ALL);
    expect(login.requests() - before).toBe(2);
  });

  it('gives the changes since a time that goes into the variables of the query', async () => {
    const { cursor = null } = await read();
    api.pages = [];
    const later = new Date(Date.now() + 60_000).toISOString();
    api.parts = api.parts.map((part) => (part.id === 5 ? { ...part, updatedAt: later } : part));
    const { rows, error } = await read(STREAM, credentials(), { mode: 'changes', cursor });
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(['5']);
    expect(api.pages[0]?.filter?.updatedSince).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  it('gives each part once although parts come and go while it is read', async () => {
    let at = 0;
    api.onPage = () => {
      at += 1;
      if (at !== 2) return;
      api.parts = [
        ...api.parts.filter(({ id }) => id !== 2),
        { id: 8, name: 'Part 8', updatedAt: '2026-06-01T12:00:00Z' },
      ];
    };
    const { rows } = await read({ ...STREAM, page: { by: 'graphql', connection: '$.data.parts' } });
    expect(idsOf(rows)).toEqual([...ALL, '8']);
  });

  it.each([
    ['a field that the schema does not have', { query: QUERY.replace('name', 'title') }, 'Cannot query field'],
    ['a query that cannot be parsed', { query: QUERY.replace('{', '(') }, 'Syntax Error'],
    ['a variable of another type', { variables: { first: 'three' } }, 'Int cannot represent'],
    ['a variable that is missing', { variables: {} }, 'non-null type'],
  ])('with %s is an error with the words of the server', async (_, body, words) => {
    const { error, rows } = await read({ ...STREAM, body: { ...STREAM.body, ...body } });
    expect(error?.message).toContain('page 1 of items was refused');
    expect(error?.message).toContain(words);
    expect(rows).toEqual([]);
  });

  it('with an error beside the data is an incomplete read', async () => {
    api.broken = 5;
    const { error, cursor } = await read();
    expect(error?.message).toContain('the scales are broken');
    expect(cursor).toBeUndefined();
  });
});

describe('a real authorisation server', () => {
  it('that refuses the client gives an error with its words and without the secret', async () => {
    const { error } = await read(STREAM, { ...credentials(), clientSecret: 'another-secret' });
    expect(error?.message).toContain(`The login at ${login.tokenUrl} was refused with 401`);
    expect(error?.message).toContain('invalid_client');
    expect(error?.message).not.toContain('another-secret');
  });

  it('that refuses a scope gives an error with its words', async () => {
    const { error } = await read(STREAM, { ...credentials(), scope: 'write' });
    expect(error?.message).toContain('invalid_scope');
  });

  it('that accepts a refresh token once gets the next one from the file, and the former one is refused', async () => {
    const refreshTokenFile = join(folder, 'refresh-token');
    const first = await login.refreshToken();
    writeFileSync(refreshTokenFile, first);
    const auth = {
      by: 'oauth2',
      grant: 'refresh_token',
      tokenUrl: login.tokenUrl,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      refreshTokenFile,
    };
    const used = [first];
    for (let time = 1; time <= 3; time += 1) {
      const { rows, error } = await read(STREAM, auth);
      expect(error).toBeNull();
      expect(idsOf(rows)).toEqual(ALL);
      used.push(readFileSync(refreshTokenFile, 'utf8').trim());
    }
    expect(new Set(used).size).toBe(4);
    const { refreshTokenFile: _, ...rest } = auth;
    const { error } = await read(STREAM, { ...rest, refreshToken: first });
    expect(error?.message).toContain('invalid_grant');
    expect(error?.message).not.toContain(first);
  });
});
