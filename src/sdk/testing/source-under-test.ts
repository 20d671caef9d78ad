import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../../lib/json.ts';
import type { Connector, ConnectorHost, OpenSource, Page, ReadMode, SourceRow, StreamCheck } from '../connector.ts';
import type { LargeSource, Settings } from './fixtures.ts';

/** A connector with settings, which is used like in the program. */
export interface SourceUnderTest {
  /** The mode of a read that gives all rows. */
  readonly wholeRead: ReadMode;
  /** True if the stream gives changes. */
  readonly givesChanges: boolean;
  check(signal?: AbortSignal): Promise<StreamCheck>;
  /** Opens the source, reads it as far as the consumer goes, and closes it. */
  pages(request?: { mode?: ReadMode; cursor?: JsonValue | null; signal?: AbortSignal }): AsyncGenerator<Page>;
  rows(): Promise<SourceRow[]>;
}

interface SourceSetup {
  connector: Connector;
  folder: string;
  settings: Settings;
  /** Gets every line that the connector logs. */
  onLog?: (line: string) => void;
}

/** @throws an error if the settings are not accepted by the connector's schemas */
export function sourceUnderTest({ connector, folder, settings, onLog = () => {} }: SourceSetup): SourceUnderTest {
  const options = parsed(connector.options, settings.options, 'options');
  const stream = parsed(connector.streamOptions, settings.stream, 'stream');
  const reads = connector.reads(options, stream);
  const wholeRead = reads === 'changes' ? 'changes' : 'snapshot';
  const host = hostAt(folder, onLog);

  async function withSource<Result>(use: (source: OpenSource<unknown>) => Promise<Result>): Promise<Result> {
    const source = await connector.open(options, host);
    try {
      return await use(source);
    } finally {
      await source.close();
    }
  }

  const signalOr = (signal?: AbortSignal): AbortSignal => signal ?? new AbortController().signal;
  async function* pages({ mode = wholeRead, cursor = null, signal }: Parameters<SourceUnderTest['pages']>[0] = {}) {
    const source = await connector.open(options, host);
    try {
      yield* source.pull({ name: 'default', options: stream, mode, cursor, signal: signalOr(signal) });
    } finally {
      await source.close();
    }
  }

  return {
    wholeRead,
    givesChanges: reads !== 'snapshot',
    check: (signal) =>
      withSource((source) => source.check({ name: 'default', options: stream, signal: signalOr(signal) })),
    pages,
    rows: () => rowsOf(pages()),
  };
}

export async function rowsOf(pages: AsyncIterable<Page>): Promise<SourceRow[]> {
  const rows: SourceRow[] = [];
  for await (const page of pages) rows.push(...page.rows);
  return rows;
}

/** Makes a large source in a separate folder for as long as `use` runs. */
export async function withLarge<Result>(
  make: (folder: string) => Promise<LargeSource>,
  use: (large: LargeSource, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'dpp-sync-kit-'));
  try {
    const large = await make(folder);
    try {
      return await use(large, folder);
    } finally {
      await large.close?.();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The error with which a promise rejects. */
export async function errorOf(promise: Promise<unknown>, what: string): Promise<unknown> {
  return promise.then(
    () => assert.fail(`${what} should have failed, and did not.`),
    (error: unknown) => error,
  );
}

/** Asserts that an error is a `sourceFault` that a person can act on. */
export function assertSourceFault(error: unknown, what: string): void {
  const { code, message, suggestion } = (typeof error === 'object' && error !== null ? error : {}) as Record<
    string,
    unknown
  >;
  assert.equal(code, 'source.unreadable', `${what} should throw a sourceFault, and threw: ${String(error)}`);
  assert.match(String(message), /\.$/, `${what}: the message should be a full sentence: ${String(message)}`);
  assert.match(String(suggestion), /\.$/, `${what}: the error should have a suggestion, as a full sentence.`);
}

/**
 * Compares rows one by one and reports the first difference, because a report of all differences in thousands of rows
 * would be too long.
 */
export function assertSameRows(found: readonly SourceRow[], expected: readonly SourceRow[], what: string): void {
  const at = expected.findIndex((row, index) => !isDeepStrictEqual(row, found[index]));
  const differs = at >= 0 ? at : found.length > expected.length ? expected.length : null;
  if (differs === null) return;
  const [wanted, given] = [expected[differs], found[differs]].map((row) => JSON.stringify(row) ?? 'none');
  assert.fail(
    `${what} Row ${differs + 1} is ${given} and should be ${wanted}; ${found.length} rows in place of ${expected.length}.`,
  );
}

function parsed(schema: Connector['options'], value: object | undefined, what: string): unknown {
  const result = schema.safeParse(value ?? {});
  assert.ok(result.success, `The ${what} of a fixture are refused: ${result.error?.message ?? ''}`);
  return result.data;
}

function hostAt(folder: string, onLog: (line: string) => void): ConnectorHost {
  const write = (fields: object, message: string): void => onLog(`${message} ${JSON.stringify(fields)}`);
  return {
    resolvePath: (path) => resolve(folder, path),
    log: { debug: write, info: write, warn: write, error: write },
  };
}
