import type { Profile } from '../domain/profile.ts';
import { isJsonObject } from '../lib/json.ts';
import {
  type ConnectorCheck,
  type ConnectorSchemas,
  type ConnectorSettings,
  checkConnector,
  type LoadedStream,
  streamNamesOf,
} from './check-connector.ts';
import { checkMapping } from './check-mapping.ts';
import type { Findings } from './findings.ts';
import type { PathSegment } from './problem.ts';

/**
 * Checks what the sources of a config ask of each other, of their connectors and of the profile.
 *
 * @returns what the connectors made of their options, by the sources' order; undefined where there was a problem
 */
export function checkSources<Connector extends ConnectorSchemas>(
  value: unknown,
  context: ConnectorCheck<Connector> & { profile: Profile | undefined },
): (ConnectorSettings<Connector> | undefined)[] {
  const { findings } = context;
  const sources = sourcesIn(value);
  const places = new Map<unknown, string>();
  return sources.map((source, index) => {
    if (!isJsonObject(source)) return undefined;
    const path = ['sources', index];
    const { id } = source;
    const first = places.get(id);
    if (first !== undefined) {
      findings.addMismatch([...path, 'id'], `an id of its own, since ${first} has this one`);
    } else if (typeof id === 'string') places.set(id, `sources[${index}]`);
    const settings = checkConnector(source, path, context);
    checkMappings(source, path, context);
    if (settings) checkOmit(source, path, settings, findings);
    return settings;
  });
}

/** The sources of a config, as far as they can be told. */
export function sourcesIn(value: unknown): unknown[] {
  return isJsonObject(value) && Array.isArray(value['sources']) ? (value['sources'] as unknown[]) : [];
}

function checkMappings(
  source: Record<string, unknown>,
  path: readonly PathSegment[],
  context: { profile: Profile | undefined; findings: Findings },
): void {
  const streams = streamNamesOf(source);
  const mappings = Array.isArray(source['mappings']) ? (source['mappings'] as unknown[]) : [];
  const mapped = new Set<unknown>();
  for (const [index, mapping] of mappings.entries()) {
    if (!isJsonObject(mapping)) continue;
    mapped.add(mapping['stream'] ?? 'default');
    checkMapping(mapping, [...path, 'mappings', index], { streams, ...context });
  }
  if (mappings.length === 0) return;
  for (const name of streams.filter((stream) => !mapped.has(stream))) {
    const message = `no mapping uses the stream ${name}, so nothing comes of its records`;
    context.findings.addWarning([...path, 'streams', name], message, 'Add a mapping for it, or remove it.');
  }
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
    const expected = `a column that no stream has as a key; ${stream.name} is identified by it`;
    findings.addMismatch([...path, 'omit', index], expected);
  }
}
