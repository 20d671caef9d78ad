import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type {
  Connector,
  ConnectorHost,
  FoundColumns,
  Page,
  ReadMode,
  SourceRow,
  StreamCheck,
  StreamLook,
} from '../connector.ts';

interface ReadRequest {
  mode?: ReadMode;
  cursor?: JsonValue | null;
  signal?: AbortSignal;
  onColumns?: (found: FoundColumns) => void;
}

/** An open source, as a run has it. */
export interface OpenUnderTest {
  check(signal?: AbortSignal): Promise<StreamCheck>;
  pages(request?: ReadRequest): AsyncIterable<Page>;
  rows(): Promise<SourceRow[]>;
  /** Null if the connector cannot look. */
  look(): Promise<StreamLook | null>;
  /** Says that the streams with these names were read and stored. */
  acknowledge(streams: readonly string[]): Promise<void>;
}

/** A connector with settings, which is used like in the program. */
export interface SourceUnderTest {
  /** The mode of a read that gives all rows. */
  readonly wholeRead: ReadMode;
  /** True if the stream gives changes. */
  readonly givesChanges: boolean;
  /** Opens the source for as long as `use` runs. */
  whileOpen<Result>(use: (opened: OpenUnderTest) => Promise<Result>): Promise<Result>;
  check(signal?: AbortSignal): Promise<StreamCheck>;
  /** Opens the source, reads it as far as the consumer goes, and closes it. */
  pages(request?: ReadRequest): AsyncGenerator<Page>;
  rows(): Promise<SourceRow[]>;
}

/** The name of the stream of a source under test. */
export const STREAM = 'default';

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

  const target = { name: STREAM, options: stream, key: settings.key ?? [] };
  const signalOr = (signal?: AbortSignal): AbortSignal => signal ?? new AbortController().signal;

  async function open(): Promise<OpenUnderTest & { close(): Promise<void> }> {
    const source = await connector.open(options, host);
    const pages = ({ mode = wholeRead, cursor = null, signal, onColumns }: ReadRequest = {}) =>
      source.pull({ ...target, mode, cursor, signal: signalOr(signal), onColumns });
    return {
      check: (signal) => source.check({ ...target, signal: signalOr(signal) }),
      pages,
      rows: () => rowsOf(pages()),
      look: async () => (await source.look?.({ ...target, signal: signalOr() })) ?? null,
      acknowledge: async (streams) => await source.acknowledge?.(streams, signalOr()),
      close: () => source.close(),
    };
  }

  async function whileOpen<Result>(use: (opened: OpenUnderTest) => Promise<Result>): Promise<Result> {
    const opened = await open();
    try {
      return await use(opened);
    } finally {
      await opened.close();
    }
  }

  async function* pages(request?: ReadRequest): AsyncGenerator<Page> {
    const opened = await open();
    try {
      yield* opened.pages(request);
    } finally {
      await opened.close();
    }
  }

  return {
    wholeRead,
    givesChanges: reads !== 'snapshot',
    whileOpen,
    check: (signal) => whileOpen((opened) => opened.check(signal)),
    pages,
    rows: () => rowsOf(pages()),
  };
}

export async function rowsOf(pages: AsyncIterable<Page>): Promise<SourceRow[]> {
  const rows: SourceRow[] = [];
  for await (const page of pages) rows.push(...page.rows);
  return rows;
}

/** Makes a source in a separate folder for as long as `use` runs. */
export async function withMade<Made extends { close?(): Promise<void> }, Result>(
  make: (folder: string) => Promise<Made>,
  use: (made: Made, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'dpp-sync-kit-'));
  try {
    const made = await make(folder);
    try {
      return await use(made, folder);
    } finally {
      await made.close?.();
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

/** The config of a source with one stream. */
export interface Settings {
  options?: JsonObject;
  stream?: JsonObject;
  /** The key columns of the stream. By default it has none. */
  key?: string[];
}

/** A small source that exists, and the rows that it has. */
export interface Sample extends Settings {
  /** The special property of the sample. It becomes a part of the names of the checks. */
  about: string;
  rows: number;
  /** How many of the rows have issues. */
  withIssues?: number;
  /** The fields that the first row has to have, such as `{ sku: '000123' }`. Only the author knows the right values. */
  first?: JsonObject;
}

/** Something that happens to a source while it is read. */
export interface Damage {
  /** What happens, such as `the file is cut short`. */
  about: string;
  now(): Promise<void>;
}

/** A source of many rows. Every check that needs such a source makes a new one. */
export interface LargeSource extends Settings {
  /** The damages that can happen to it, at least one. */
  damages: readonly Damage[];
  /**
   * How many rows the source has given so far. Absent if it cannot count them: a server of the test can count, a file
   * cannot.
   */
  given?(): number;
  /** Called after the check, for instance to stop a server. */
  close?(): Promise<void>;
}

/** A source of a few rows, from which records can be removed. */
export interface ShrinkingSource extends Settings {
  key: [string, ...string[]];
  /** Removes some of the records, and gives the values of their key columns. */
  remove(): Promise<readonly JsonObject[]>;
  /** Called after the check, for instance to stop a server. */
  close?(): Promise<void>;
}

/** A source whose records can be changed while it is read. */
export interface ChangingSource extends Settings {
  /**
   * Changes records, and adds some. Gives what a read has to give for each of them: its fields, or those that identify it and those
   * that have changed. One of them should get the time or version that the newest record has at this moment, and one should
   * stand where a read has already been.
   */
  change(): Promise<readonly JsonObject[]>;
  /** Called after the check, for instance to stop a server. */
  close?(): Promise<void>;
}

/** What the author of a connector provides, so that the connector can be checked. */
export interface ConnectorFixtures {
  /** The folder to which paths in options are relative, like the folder of a config file. */
  folder: string;
  samples: readonly [Sample, ...Sample[]];
  /** Settings that the connector's schemas have to refuse, at least one. */
  refused: readonly [Settings, ...Settings[]];
  /**
   * Valid settings for a source that cannot be reached: a file that does not exist, or a server that does not answer.
   */
  unreachable: Settings & {
    /** A text that the error has to contain, so that a person knows what to check, such as the path or the address. */
    names: string;
  };
  /** Makes a source with exactly this many good rows. It may write its files into the folder, which is empty. */
  large: (rows: number, folder: string) => Promise<LargeSource>;
  /**
   * True if a read of changes may give rows again that were stored already, because an interrupted read begins again where it
   * began.
   */
  repeats?: boolean;
  /** Makes a source whose changes have a tombstone for each record that is removed. It may write its files into the folder. */
  shrinking?: (folder: string) => Promise<ShrinkingSource>;
  /** Makes a source with this many rows whose changes can be read. It may write its files into the folder. */
  changing?: (rows: number, folder: string) => Promise<ChangingSource>;
  /** The values of secret options in the settings above. */
  secrets?: readonly string[];
}

/** One check of the contract of a connector. */
export interface ConnectorCheck {
  /** A sentence about the connector, such as `reads the same rows again`. */
  name: string;
  /** Resolves if the sentence is true of the connector. Otherwise rejects with an error that describes the problem. */
  run: () => Promise<void>;
}

/** Makes some of the checks for a connector. */
export type CheckMaker = (connector: Connector, fixtures: ConnectorFixtures) => ConnectorCheck[];

/** Damages that can happen to a file while it is read, for the fixtures of connectors that read files. */
export function fileDamages(path: string): Damage[] {
  return [
    { about: 'the file is cut short', now: () => truncate(path, 10) },
    { about: 'the file grows', now: () => appendFile(path, '\n') },
    { about: 'the file is overwritten', now: () => writeFile(path, '') },
    { about: 'the file is renamed', now: () => rename(path, `${path}.old`) },
  ];
}
