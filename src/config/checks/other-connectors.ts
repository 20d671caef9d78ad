import { isJsonObject } from '../../lib/json.ts';
import type { ConnectorLoader, ConnectorSchemas, NamedConnectors } from '../connector-loader.ts';
import type { SettingsContext } from '../parse-settings.ts';
import type { PathSegment } from '../problem.ts';
import { keysAt } from '../schema/schema-walk.ts';
import { DEFAULT_STREAM } from './check-connector.ts';
import type { Findings } from './findings.ts';

/** A stream as the config has it. */
interface GivenStream {
  path: PathSegment[];
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
  const given = isJsonObject(streams) ? streams : streams === undefined ? { [DEFAULT_STREAM]: options } : {};
  return Object.entries(given).flatMap(([name, value]) => {
    if (!isJsonObject(value)) return [];
    const { key: _, ...settings } = value;
    const isSingle = streams === undefined;
    return [{ path: [...path, ...(isSingle ? ['options'] : ['streams', name])], settings, isSingle }];
  });
}

/** The names of the settings that a connector does not know, or not with their values. */
function refusedOptions(
  { options, streamOptions }: ConnectorSchemas,
  { settings, isSingle }: Pick<GivenStream, 'settings' | 'isSingle'>,
): string[] {
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
