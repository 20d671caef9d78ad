import { isJsonObject } from '../../lib/json.ts';
import { StreamKey } from '../config.ts';
import type { ConnectorSchemas, NamedConnectors } from '../connector-loader.ts';
import { parseSettings, type SettingsContext } from '../parse-settings.ts';
import { formatPath, type PathSegment } from '../problem.ts';
import { keysAt } from '../schema/schema-walk.ts';
import type { Findings } from './findings.ts';

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
export const DEFAULT_STREAM = 'default';

export interface ConnectorCheck<Connector extends ConnectorSchemas> {
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

/** The names of a source's streams, as far as they are known. */
export function streamNamesOf(source: Record<string, unknown>): string[] {
  const { streams } = source;
  if (streams === undefined) return [DEFAULT_STREAM];
  return isJsonObject(streams) ? Object.keys(streams) : [];
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
