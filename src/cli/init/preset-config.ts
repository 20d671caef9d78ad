import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { Recognised } from './recognise-format.ts';

/** The `sources` section of a preset, in which the user's file replaces the example. */
export interface PresetSources {
  /** The id of the source. */
  source: string;
  text: string;
}

/**
 * Replaces the example files of a preset with the user's file. Streams that the file does not have are left out, with
 * their mappings.
 *
 * @param root the folder of this program's package
 */
export function presetSources(
  { preset = '', presetStreams, options, stream: streamOptions }: Recognised,
  path: string,
  root: string,
): PresetSources {
  const document = parseDocument(readFileSync(join(root, 'config', 'presets', `${preset}.yaml`), 'utf8'));
  for (const name of ['target', 'queue', 'ledger', 'passports']) document.delete(name);
  document.commentBefore = null;
  const source = document.getIn(['sources', 0]) as YAMLMap;
  source.delete('schedule');
  source.delete('timezone');
  for (const { name, value } of options) source.setIn(['options', name], value);
  const streams = source.get('streams') as YAMLMap;
  for (const name of streams.items.map(({ key }) => String(key))) {
    if (presetStreams !== undefined && !presetStreams.includes(name)) {
      streams.delete(name);
      continue;
    }
    const stream = streams.get(name) as YAMLMap;
    stream.set(
      'path',
      path.replaceAll('${', () => '$${'),
    );
    stream.delete('files');
    for (const option of streamOptions) stream.set(option.name, option.value);
  }
  const mappings = source.get('mappings');
  if (isSeq(mappings)) {
    mappings.items = mappings.items.filter((mapping) => isMap(mapping) && streams.has(String(mapping.get('stream'))));
  }
  return {
    source: String(source.get('id')),
    text: document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimStart(),
  };
}

/** The preset for records that look like the plain JSON files of a known system; null if there is none. */
export function presetOfRecords(connector: string, rows: readonly JsonObject[]): string | undefined {
  if (connector !== 'json') return undefined;
  const models = new Set(rows.map(({ model, fields }) => (isJsonObject(fields) ? model : null)));
  return models.has('part.part') && models.has('part.bomitem') ? 'inventree' : undefined;
}
