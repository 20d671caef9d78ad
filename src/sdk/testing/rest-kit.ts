// What all checks of a REST connector share: its rows, a server that has them, and reads.

import assert from 'node:assert/strict';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Connector, Page, ReadMode, SourceRow } from '../connector.ts';
import type { RestFixtures } from './rest-api.ts';
import { recordedParts } from './rest-recorded.ts';
import { type ApiServer, startApiServer } from './rest-server.ts';
import { sourceUnderTest } from './source-under-test.ts';

/** What a read gave. */
export interface Outcome {
  pages: Page[];
  rows: SourceRow[];
  /** The rows by their keys. Of rows with the same key it is the last one. */
  byKey: Map<string, JsonObject>;
  error: Error | null;
}

export interface Kit {
  fixtures: RestFixtures;
  rows: readonly JsonObject[];
  /** True if a recording has answers for the children of rows. */
  hasOtherAnswers: boolean;
  key: readonly string[];
  givesChanges: boolean;
  withServer: (use: (server: ApiServer) => Promise<void>, rows?: readonly JsonObject[]) => Promise<void>;
  read: (server: ApiServer, request?: { mode?: ReadMode; cursor?: JsonValue | null }) => Promise<Outcome>;
  copy: (row: JsonObject, number: number) => JsonObject;
  change: (row: JsonObject) => JsonObject;
}

const REQUESTS_MAX = 5_000;

/** A connector with its fixtures, as the checks use them. */
export function kitOf(connector: Connector, fixtures: RestFixtures): Kit {
  const { api, settings } = fixtures;
  const { rows, document, answer, hasOtherAnswers } = recordedParts(fixtures);
  const sample = settings('http://127.0.0.1:1');
  const key = sample.key ?? [];
  const { givesChanges } = sourceUnderTest({ connector, folder: '.', settings: sample });
  const copy = fixtures.copy ?? ((row, number) => withOtherKey(row, key, number));
  const change = fixtures.change ?? ((row) => changed(row, key));

  return {
    fixtures,
    rows,
    hasOtherAnswers,
    key,
    givesChanges,
    copy,
    change,
    async withServer(use, own = rows) {
      const server = await startApiServer({ api, rows: own, document, answer });
      try {
        await use(server);
      } finally {
        await server.close();
      }
    },
    async read(server, { mode = 'snapshot', cursor = null } = {}) {
      const source = sourceUnderTest({ connector, folder: '.', settings: settings(server.base) });
      const endless = new AbortController();
      const watch = setInterval(() => {
        if (server.requests() > REQUESTS_MAX)
          endless.abort(new Error(`The read does not end: ${REQUESTS_MAX} requests came.`));
      }, 10);
      const pages: Page[] = [];
      let error: Error | null = null;
      try {
        for await (const page of source.pages({ mode, cursor, signal: endless.signal })) pages.push(page);
      } catch (thrown) {
        error = thrown as Error;
      } finally {
        clearInterval(watch);
      }
      server.assertSound();
      const given = pages.flatMap((page) => page.rows);
      return { pages, rows: given, byKey: new Map(given.map(({ fields }) => [keyOf(fields, key), fields])), error };
    },
  };
}

function keyOf(fields: JsonObject, key: readonly string[]): string {
  return JSON.stringify(key.length === 0 ? fields : key.map((column) => fields[column] ?? null));
}

function withOtherKey(row: JsonObject, key: readonly string[], number: number): JsonObject {
  const other = { ...row };
  for (const column of key) {
    const value = row[column];
    if (typeof value === 'number') other[column] = value + number * 10_000_000;
    else if (typeof value === 'string') other[column] = `${value}-${number}`;
  }
  assert.notDeepEqual(
    other,
    row,
    'A row has no key column with a number or a text, so give `copy`, which makes another row.',
  );
  return other;
}

function changed(row: JsonObject, key: readonly string[]): JsonObject {
  const [name, value] =
    Object.entries(row).find(([name, value]) => typeof value === 'string' && value !== '' && !key.includes(name)) ?? [];
  assert.ok(name !== undefined, 'A row has no text besides its key, so give `change`, which changes a row.');
  return { ...row, [name]: `${value as string} (changed)` };
}

/** A read that nothing disturbs. */
export async function cleanRead(kit: Kit, server: ApiServer): Promise<Outcome> {
  server.behave({});
  const outcome = await kit.read(server);
  if (outcome.error !== null) throw outcome.error;
  assertOnce(outcome, 'A read that nothing disturbs');
  return outcome;
}

export function assertOnce({ rows, byKey }: Outcome, what: string): void {
  assert.equal(rows.length, byKey.size, `${what} gives rows with the same key twice.`);
}
