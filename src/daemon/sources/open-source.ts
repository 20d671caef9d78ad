import { inspect } from 'node:util';
import { BUILT_IN } from '../../../connectors/index.ts';
import type { LoadedConfig, LoadedSource } from '../../config/loaded-config.ts';
import type { Page, SourceReader, StreamReads } from '../../domain/ports/source.ts';
import { Fault } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { type ColumnCheck, columnsMentionedBy, createColumnCheck, neededColumns } from '../../pipeline/column-check.ts';
import {
  type Connector,
  type ConnectorHost,
  type StreamCheck,
  type StreamLook,
  sourceFault,
} from '../../sdk/connector.ts';
import { checkedSource } from './checked-source.ts';

export type RuntimeConfig = LoadedConfig<Connector>;
export type ConfiguredSource = LoadedSource<Connector>;

/**
 * Opens a configured source with its connector. An error names the place of the source in the config.
 *
 * @param onExchange gets the requests and answers of a REST source, for a recording
 */
export async function openSource(
  source: ConfiguredSource,
  config: RuntimeConfig,
  log: Logger,
  onExchange?: ConnectorHost['onExchange'],
): Promise<SourceReader> {
  const { connector, path } = source;
  const { options, streams } = await source.readSettings();
  const reads = streams.map((stream) => readsAt(connector, options, stream, config));
  const periods = streams.map((stream) => snapshotEveryAt(connector, options, stream, config));
  const opened = await open(source, options, { config, log, onExchange });
  return {
    streams: streams.map((stream, at) => ({
      name: stream.name,
      key: stream.key,
      reads: reads[at] ?? 'changes',
      snapshotEveryMs: periods[at] ?? null,
      pull: (from, signal) =>
        pullAt(stream.path, config, () => {
          const { name, key, options: own } = stream;
          const check = columnCheckOf(source, name, config);
          const pages = opened.pull({ name, key, options: own, ...from, signal, onColumns: check?.columns });
          const read = from.mode === 'snapshot' ? withoutTombstones(pages) : pages;
          return check === null ? read : withCheckedRows(read, check);
        }),
    })),
    async acknowledge(names, signal) {
      try {
        await opened.acknowledge?.(names, signal);
      } catch (error) {
        throw placed(error, path, config);
      }
    },
    close: () => opened.close(),
  };
}

/** A snapshot without a record says that the record is gone, so a tombstone adds nothing. */
async function* withoutTombstones(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
  for await (const page of pages) yield { ...page, rows: page.rows.filter(({ isGone }) => isGone !== true) };
}

/** The check of the columns of a stream; null if its rows need not have the same columns. */
function columnCheckOf(source: ConfiguredSource, name: string, config: RuntimeConfig): ColumnCheck | null {
  const stream = source.streams.find((one) => one.name === name);
  if (source.connector.fixedColumns !== true || stream === undefined) return null;
  const mentioned = source.mappings.filter((mapping) => mapping.stream === name).flatMap(columnsMentionedBy);
  return createColumnCheck(neededColumns(source, stream, config.sources), [...mentioned, ...source.omit]);
}

async function* withCheckedRows(pages: AsyncIterable<Page>, check: ColumnCheck): AsyncGenerator<Page> {
  for await (const page of pages) {
    yield { ...page, rows: check.rows(page.rows) };
  }
}

/** Tries to read one stream of a source. Throws if it cannot be read, or lacks a column that the config needs. */
export async function checkStream(
  source: ConfiguredSource,
  { name, key, path }: ConfiguredSource['streams'][number],
  { config, log, signal }: { config: RuntimeConfig; log: Logger; signal: AbortSignal },
): Promise<StreamCheck & { reads: StreamReads }> {
  const { options, streams } = await source.readSettings();
  const stream = streams.find((one) => one.name === name);
  const reads = stream === undefined ? 'changes' : readsAt(source.connector, options, stream, config);
  const opened = await open(source, options, { config, log });
  try {
    const own = stream?.options;
    const check = columnCheckOf(source, name, config);
    const checking = opened.check({ name, key, options: own, signal, onColumns: check?.columns });
    const found = await inTime(checking, source.connector.id);
    const { columns: names = [] } = found;
    if (names.length > 0) check?.columns({ names, where: `${source.id}/${name}` });
    return { ...found, reads };
  } catch (error) {
    throw placed(error, path, config);
  } finally {
    await opened.close();
  }
}

/**
 * Looks at all streams of a source for `watch`. Null if its connector has no `look`.
 *
 * @returns `facts` is null while nothing can be read
 */
export async function lookAtSource(
  source: ConfiguredSource,
  { config, log, signal }: { config: RuntimeConfig; log: Logger; signal: AbortSignal },
): Promise<StreamLook | null> {
  const { options, streams } = await source.readSettings();
  const opened = await open(source, options, { config, log });
  try {
    const found: StreamLook = { facts: null, againMs: 0 };
    for (const { name, key, options: own } of streams) {
      if (opened.look === undefined) return null;
      const { facts, againMs } = await opened.look({ name, key, options: own, signal });
      if (facts !== null) found.facts = `${found.facts ?? ''}${name} ${facts}\n`;
      found.againMs = Math.max(found.againMs, againMs);
    }
    return found;
  } finally {
    await opened.close();
  }
}

/**
 * Without a time limit, a check that never ends would end the program silently, because nothing else keeps it running.
 */
async function inTime<Result>(promise: Promise<Result>, connector: string): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const seconds = CHECK_WITHIN_MS / 1000;
  const timer = setTimeout(() => {
    const suggestion = 'Check whether the source answers, and whether the connector waits without a time limit.';
    reject(sourceFault(`The connector ${connector} has not checked its source within ${seconds} s.`, { suggestion }));
  }, CHECK_WITHIN_MS);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A login and a statement together may take this long. */
const CHECK_WITHIN_MS = 330_000;

async function isBuiltIn(connector: Connector): Promise<boolean> {
  const load = Object.hasOwn(BUILT_IN, connector.id) ? BUILT_IN[connector.id] : undefined;
  return load !== undefined && (await load()) === connector;
}

function readsAt(
  connector: Connector,
  options: unknown,
  stream: { name: string; path: string; options: unknown },
  config: RuntimeConfig,
): StreamReads {
  try {
    return streamReads(connector, options, stream);
  } catch (error) {
    throw placed(error, stream.path, config);
  }
}

/**
 * How often a stream is also read completely, if its own options say so.
 *
 * @throws a `sourceFault` if the connector gives something else than a time
 */
function snapshotEveryAt(
  connector: Connector,
  options: unknown,
  stream: { name: string; path: string; options: unknown },
  config: RuntimeConfig,
): number | null {
  const period: unknown = connector.snapshotEveryMs?.(options, stream.options) ?? null;
  if (period === null || (typeof period === 'number' && period > 0)) return period;
  const given = inspect(period).slice(0, 100);
  const message = `The connector ${connector.id} gives ${given} as the time between two snapshots of the stream ${stream.name}.`;
  const suggestion = 'Correct the connector: `snapshotEveryMs` gives a number of milliseconds above 0, or null.';
  throw placed(sourceFault(message, { suggestion }), stream.path, config);
}

async function open(
  { connector, path }: ConfiguredSource,
  options: unknown,
  { config, log, onExchange }: { config: RuntimeConfig; log: Logger; onExchange?: ConnectorHost['onExchange'] },
) {
  try {
    const opened = await connector.open(options, {
      resolvePath: (file) => config.resolvePath(file),
      hasSecret: (value) => config.hasSecret(value),
      log,
      onExchange,
    });
    // Tests check the connectors of this package.
    return (await isBuiltIn(connector)) ? opened : checkedSource(opened, connector.id);
  } catch (error) {
    throw placed(error, path, config);
  }
}

async function* pullAt(path: string, config: RuntimeConfig, pull: () => AsyncIterable<Page>): AsyncGenerator<Page> {
  try {
    yield* pull();
  } catch (error) {
    throw placed(error, path, config);
  }
}

/**
 * Adds the place in the config, which the connector does not know, and removes secrets: the message of an error goes
 * into the ledger, and another library may have written it (I7).
 */
function placed(error: unknown, path: string, { scrub }: Pick<RuntimeConfig, 'scrub'>): unknown {
  if (!(error instanceof Error)) return error;
  const message = scrub(error.message);
  if (!(error instanceof Fault)) return message === error.message ? error : new Error(message);
  const { code, exitCode, suggestion } = error;
  const isPlaced = code !== 'source.unreadable' || error.path !== undefined;
  if (isPlaced && message === error.message && (suggestion === undefined || scrub(suggestion) === suggestion))
    return error;
  const at = isPlaced ? error.path : path;
  return new Fault(code, exitCode, message, {
    ...(at === undefined ? {} : { path: at }),
    ...(suggestion === undefined ? {} : { suggestion: scrub(suggestion) }),
    cause: error.cause,
  });
}

const READS: ReadonlySet<unknown> = new Set<StreamReads>(['snapshot', 'changes', 'changes-and-snapshot']);

/**
 * Checks the kind of reads that a stream names. An unknown kind is an error: if it were treated as `snapshot`, all
 * records that a connector does not give would count as missing.
 *
 * @throws a `sourceFault`
 */
function streamReads(connector: Connector, options: unknown, stream: { name: string; options: unknown }): StreamReads {
  const reads: unknown = connector.reads(options, stream.options);
  if (isStreamReads(reads)) return reads;
  const given = typeof reads === 'string' ? `"${reads.slice(0, 100)}"` : `no text (${typeof reads})`;
  throw sourceFault(`The connector ${connector.id} gives ${given} as the kind of read of the stream ${stream.name}.`, {
    suggestion: 'Correct the connector: `reads` is "snapshot", "changes" or "changes-and-snapshot".',
  });
}

function isStreamReads(value: unknown): value is StreamReads {
  return READS.has(value);
}

/** The part of a stream's CSV dialect that files with its rows follow, which people get and give back. */
export interface StreamDialect {
  delimiter: string;
  quote: string;
  encoding: string;
}

const PLAIN: StreamDialect = { delimiter: ',', quote: '"', encoding: 'utf-8' };

/** The delimiter, the quote and the encoding of a stream's own files, or those of plain CSV where the files are of another format. */
export function dialectOf(source: ConfiguredSource, stream: string): StreamDialect {
  if (source.connector.id !== 'csv') return PLAIN;
  const own = source.streams.find(({ name }) => name === stream)?.options;
  const text = (name: keyof StreamDialect): string => {
    for (const options of [own, source.options]) {
      const value = isRecord(options) ? options[name] : undefined;
      if (typeof value === 'string') return value;
    }
    return PLAIN[name];
  };
  return { delimiter: text('delimiter'), quote: text('quote'), encoding: text('encoding') };
}

const isRecord = (value: unknown): value is Record<string, unknown> => isJsonObject(value as never);
