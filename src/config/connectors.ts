import { isAbsolute } from 'node:path';
import type { z } from 'zod';
import type { Result } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import type { Findings } from './checks/findings.ts';
import { StreamKey } from './config.ts';
import { parseSettings, type SettingsContext } from './parse-settings.ts';
import { formatPath, type PathSegment } from './problem.ts';
import { keysAt } from './schema/schema-walk.ts';

/** The schemas of a connector that the config needs. */
export interface ConnectorSchemas {
  id: string;
  /** The source's `options`. */
  options: z.ZodType;
  /** The settings of a stream besides `key`. */
  streamOptions: z.ZodType;
  /** The endings of the names of files that the connector reads; absent if it reads no files, or files of any name. */
  endings?: readonly string[];
}

/** Why a connector cannot be used, as a full sentence. */
export interface ConnectorFlaw {
  message: string;
  cure?: string;
}

/** Finds the connectors that a config names. */
export interface ConnectorLoader<Connector> {
  /** The ids of the built-in connectors. */
  ids: readonly string[];
  /**
   * Loads a connector by its id, its path or the name of its package. Null if the name is neither an id nor a path nor an
   * installed package.
   *
   * @param folder the config file's folder
   */
  load(name: string, folder: string): Promise<Result<Connector, ConnectorFlaw> | null>;
}

/** True for a connector that is named by the path of its module. */
export function isPathOfConnector(name: string): boolean {
  return name.startsWith('./') || name.startsWith('../') || isAbsolute(name);
}

/** The connectors that a config names, each with its result. */
type NamedConnectors<Connector> = ReadonlyMap<string, Result<Connector, ConnectorFlaw> | null>;

/** Loads every connector that the sources of a config name. */
export async function loadNamed<Connector>(
  sources: readonly unknown[],
  loader: ConnectorLoader<Connector>,
  folder: string,
): Promise<NamedConnectors<Connector>> {
  const names = sources.flatMap((source) => {
    const name = typeof source === 'object' && source !== null && 'connector' in source ? source.connector : undefined;
    return typeof name === 'string' ? [name] : [];
  });
  const loaded = new Map<string, Result<Connector, ConnectorFlaw> | null>();
  for (const name of new Set(names)) loaded.set(name, await loader.load(name, folder));
  return loaded;
}

/** A stream with its checked options for the connector. */
export interface LoadedStream {
  name: string;
  /** Columns that identify a record; empty if its content does. */
  key: string[];
  options: unknown;
  /**
   * The path of the stream in the config, such as `sources[0].streams.boms`, or `sources[0].options` if the source has
   * a single stream.
   */
  path: string;
}

/** The options of a source that the schemas of its connector have parsed. */
export interface ConnectorSettings<Connector> {
  connector: Connector;
  options: unknown;
  streams: LoadedStream[];
}

/** The name of a single stream whose settings are in `options`. */
const DEFAULT_STREAM = 'default';

interface ConnectorCheck<Connector extends ConnectorSchemas> {
  /** The connectors that the config names. */
  connectors: NamedConnectors<Connector>;
  /** The ids of the built-in connectors. */
  connectorIds: readonly string[];
  findings: Findings;
  isExpanded: SettingsContext['isExpanded'];
}

/**
 * Checks a source's connector, options and streams. It uses the unchecked values of the file. So it also runs if other
 * parts of the config are wrong, and all problems are reported at once.
 *
 * @returns undefined when there was a problem
 */
export function checkConnector<Connector extends ConnectorSchemas>(
  source: Record<string, unknown>,
  path: readonly PathSegment[],
  check: ConnectorCheck<Connector>,
): ConnectorSettings<Connector> | undefined {
  if (typeof source['connector'] !== 'string') return undefined;
  const found = check.connectors.get(source['connector']) ?? null;
  if (found === null) {
    const what = 'a connector (or a path such as ./my.ts, or a package such as dpp-sync-connector-foo)';
    check.findings.addUnknownName([...path, 'connector'], what, check.connectorIds);
    return undefined;
  }
  if (!found.ok) {
    check.findings.addProblem([...path, 'connector'], found.error.message, found.error.cure);
    return undefined;
  }
  const connector = found.value;
  const { streams } = source;
  const given = source['options'] ?? {};
  if (!isJsonObject(given) || (streams !== undefined && !isJsonObject(streams))) return undefined;
  const settings =
    streams === undefined
      ? checkSingleStream(connector, given, [...path, 'options'], check)
      : checkStreams(connector, { options: given, streams }, path, check);
  if (settings) checkOmit(source, path, settings, check.findings);
  return settings;
}

/** The names of a source's streams; null if `streams` has no names, which is reported at its own place. */
export function streamNamesOf(source: Record<string, unknown>): string[] | null {
  const { streams } = source;
  if (streams === undefined) return [DEFAULT_STREAM];
  return isJsonObject(streams) ? Object.keys(streams) : null;
}

/** Without `streams`, the members of `options` that are not options of the source belong to the stream `default`. */
function checkSingleStream<Connector extends ConnectorSchemas>(
  connector: Connector,
  given: Record<string, unknown>,
  path: PathSegment[],
  check: ConnectorCheck<Connector>,
): ConnectorSettings<Connector> | undefined {
  const own = keysAt(connector.options, []);
  const ofStream = keysAt(connector.streamOptions, []);
  const belongs = (name: string): boolean => ofStream.includes(name) && !own.includes(name);
  const entries = Object.entries(given).filter(([name]) => name !== 'key');
  const context = { ...check, path };
  const options = parseSettings(connector.options, Object.fromEntries(entries.filter(([name]) => !belongs(name))), {
    ...context,
    alsoKnown: ['key', ...ofStream],
  });
  const stream = parseSettings(
    connector.streamOptions,
    Object.fromEntries(entries.filter(([name]) => belongs(name))),
    context,
  );
  const key = checkKey(given['key'], [...path, 'key'], context);
  if (options === undefined || stream === undefined || key === undefined) return undefined;
  return { connector, options, streams: [{ name: DEFAULT_STREAM, key, options: stream, path: formatPath(path) }] };
}

function checkStreams<Connector extends ConnectorSchemas>(
  connector: Connector,
  given: { options: Record<string, unknown>; streams: Record<string, unknown> },
  path: readonly PathSegment[],
  check: ConnectorCheck<Connector>,
): ConnectorSettings<Connector> | undefined {
  const ofStream = keysAt(connector.streamOptions, []);
  const options = parseSettings(connector.options, given.options, {
    ...check,
    path: [...path, 'options'],
    cureUnknown: (key) =>
      key === 'key' || ofStream.includes(key)
        ? `Where there are streams, ${key} belongs under each of them.`
        : undefined,
  });
  const streams: LoadedStream[] = [];
  const names = Object.keys(given.streams);
  if (names.length === 0) check.findings.addMismatch([...path, 'streams'], 'at least one stream');
  for (const [name, value] of Object.entries(given.streams)) {
    if (!isJsonObject(value)) continue;
    const at = [...path, 'streams', name];
    const { key: columns, ...rest } = value;
    const stream = parseSettings(connector.streamOptions, rest, { ...check, path: at, alsoKnown: ['key'] });
    const key = checkKey(columns, [...at, 'key'], { ...check, path: at });
    if (stream === undefined || key === undefined) continue;
    streams.push({ name, key, options: stream, path: formatPath(at) });
  }
  return options !== undefined && streams.length === names.length ? { connector, options, streams } : undefined;
}

/** A stream without its options. */
export type KeyedStream = Pick<LoadedStream, 'name' | 'key'>;

/**
 * The streams of a source with their keys, for a command that loads no connector.
 *
 * @returns undefined when there was a problem
 */
export function checkStreamKeys(
  source: Record<string, unknown>,
  path: readonly PathSegment[],
  check: Pick<SettingsContext, 'findings' | 'isExpanded'>,
): KeyedStream[] | undefined {
  const streams: KeyedStream[] = [];
  const given = givenStreams(source, path);
  for (const { name, path: at, key: columns } of given) {
    const key = checkKey(columns, [...at, 'key'], { ...check, path: at });
    if (key !== undefined) streams.push({ name, key });
  }
  return streams.length === given.length ? streams : undefined;
}

function checkKey(value: unknown, path: PathSegment[], check: SettingsContext): string[] | undefined {
  return value === undefined ? [] : parseSettings(StreamKey, value, { ...check, path });
}

function checkOmit(
  source: Record<string, unknown>,
  path: readonly PathSegment[],
  { streams }: { streams: readonly LoadedStream[] },
  findings: Findings,
): void {
  if (!Array.isArray(source['omit'])) return;
  for (const [index, column] of source['omit'].entries()) {
    const stream = streams.find(({ key }) => key.includes(String(column)));
    if (!stream) continue;
    const expected = `a column that is not a key; the stream ${stream.name} has this column in its key`;
    findings.addMismatch([...path, 'omit', index], expected);
  }
}

/** A stream as the config has it. */
interface GivenStream {
  name: string;
  path: PathSegment[];
  /** The unchecked columns that identify a record. */
  key: unknown;
  /** The settings of the stream besides `key`. */
  settings: Record<string, unknown>;
  /** True if the settings are in `options` of the source, together with the options of the source. */
  isSingle: boolean;
}

/**
 * Reports the streams that belong to another built-in connector: their connector does not take one of their options, and
 * the ending of the path or these options show which connector does. The built-in connectors are loaded only if an option
 * is not taken.
 *
 * @param sources the unchecked sources of the config
 */
export async function addStreamsOfOtherConnectors<Connector extends ConnectorSchemas>(
  sources: readonly unknown[],
  context: {
    connectors: NamedConnectors<Connector>;
    loader: ConnectorLoader<Connector>;
    folder: string;
    findings: Findings;
    isExpanded: SettingsContext['isExpanded'];
  },
): Promise<void> {
  const { connectors, loader, folder, findings, isExpanded } = context;
  for (const [index, source] of sources.entries()) {
    if (!isJsonObject(source) || typeof source['connector'] !== 'string') continue;
    const own = connectors.get(source['connector']);
    // A connector of another author is chosen on purpose, whatever its files are called.
    if (!own?.ok || !loader.ids.includes(source['connector'])) continue;
    const streams = givenStreams(source, ['sources', index]);
    for (const stream of streams) {
      // A value from a placeholder shows nothing about the connector that the author of the config has in mind.
      const refused = refusedOptions(own.value, stream).filter((name) => !isExpanded([...stream.path, name]));
      const ending = endingOf(stream.settings);
      if (refused.length === 0 || own.value.endings?.some((one) => one === ending)) continue;
      const others: Connector[] = [];
      for (const id of loader.ids.filter((one) => one !== own.value.id)) {
        const other = await loader.load(id, folder);
        if (other?.ok) others.push(other.value);
      }
      const settings = Object.fromEntries(refused.map((name) => [name, stream.settings[name]]));
      const taking = others.filter((other) => refusedOptions(other, { ...stream, settings }).length === 0);
      const ofEnding = others.filter(({ endings = [] }) => endings.some((one) => one === ending));
      const both = ofEnding.filter((other) => taking.includes(other));
      const found = both.length > 0 ? both : ofEnding.length > 0 ? ofEnding : taking;
      if (found.length === 0) continue;
      const ids = listed(found.map(({ id }) => id));
      const [which, takes] =
        found.length === 1 ? [`the connector ${ids}`, 'takes'] : [`one of the connectors ${ids}`, 'take'];
      const options = refused.map((name) => `\`${name}\``).join(' and ');
      const reason = ofEnding.length > 0 ? `because its file name ends in ${ending}` : `which ${takes} its ${options}`;
      const connector = found.length === 1 ? `\`connector: ${ids}\`` : which;
      findings.addProblem(
        stream.path,
        `This stream is probably for ${which}, ${reason}. Its source has the connector ${own.value.id}.`,
        streams.length === 1
          ? `Use ${connector}.`
          : `Move the stream and its mappings into a source of its own, with its own \`id\` and with ${connector}.`,
      );
    }
  }
}

function givenStreams(source: Record<string, unknown>, path: readonly PathSegment[]): GivenStream[] {
  const { streams, options } = source;
  const given = isJsonObject(streams) ? streams : streams === undefined ? { [DEFAULT_STREAM]: options ?? {} } : {};
  return Object.entries(given).flatMap(([name, value]) => {
    if (!isJsonObject(value)) return [];
    const { key, ...settings } = value;
    const isSingle = streams === undefined;
    return [{ name, path: [...path, ...(isSingle ? ['options'] : ['streams', name])], key, settings, isSingle }];
  });
}

/** The names of the settings that a connector does not know, or not with their values. */
function refusedOptions({ options, streamOptions }: ConnectorSchemas, { settings, isSingle }: GivenStream): string[] {
  const schemas = isSingle ? [options, streamOptions] : [streamOptions];
  return Object.entries(settings).flatMap(([name, value]) => {
    const isTaken = schemas.some(
      (schema) =>
        keysAt(schema, []).includes(name) &&
        !schema.safeParse({ [name]: value }, { jitless: true }).error?.issues.some(({ path }) => path[0] === name),
    );
    return isTaken ? [] : [name];
  });
}

/** The ending of the names of a stream's files, or of the entries of its archives, in lower case; empty if none is known. */
function endingOf({ path, entry }: Record<string, unknown>): string {
  const endings = [entry, path].map((given) => {
    const name = typeof given !== 'string' ? '' : given.includes('://') ? given.replace(/[?#].*/s, '') : given;
    return /\.[a-z0-9]+(?=(?:\.gz|\.zip)?$)/i.exec(name)?.[0].toLowerCase() ?? '';
  });
  return endings.find((ending) => ending !== '') ?? '';
}

function listed(ids: readonly string[]): string {
  return ids.length === 1 ? String(ids[0]) : `${ids.slice(0, -1).join(', ')} or ${ids.at(-1)}`;
}
