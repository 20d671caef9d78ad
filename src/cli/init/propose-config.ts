import { basename, dirname, join } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { Fault } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { counted } from '../../lib/text/amounts.ts';
import { checkProposal, type Sampled } from './check-proposal.ts';
import { streamName } from './file-names.ts';
import { type FileSet, fileSetsOf } from './file-sets.ts';
import { findFile, type PresetFile } from './find-file.ts';
import type { FoundFile, FoundRecords, FoundStream } from './found-file.ts';
import { aloneFile, type Join, joinFiles } from './join-files.ts';
import { type JoinedProduct, joinedProduct } from './joined-preview.ts';
import { presetSources } from './preset-config.ts';
import type { ProposedMapping } from './proposed-line.ts';
import { ONLY_ASCII } from './recognise-encoding.ts';
import type { Recognised } from './recognise-format.ts';
import { type ConfigParts, headText, sourcesText, todoOf } from './write-config.ts';

/** What is proposed for the records of a stream. */
export interface ProposedRecords {
  stream: string;
  key: string[];
  mapping: ProposedMapping;
  /** The counts of the records from which the proposal is made. */
  sample: { records: number; broken: number; isWhole: boolean; columns: number };
}

/** What is proposed for one file. */
export interface ProposedFile {
  file: string;
  source: string;
  recognised: Recognised;
  /** Empty if a preset has the mappings. */
  records: ProposedRecords[];
  /** The lines of the config that have a TODO. */
  todo: string[];
}

/** A config for one or several files. */
export interface ProposedConfig {
  files: ProposedFile[];
  /** How the records belong together; empty for a file whose records become items of one kind. */
  joins: Join[];
  /** A product with its parts; null if nothing joins. */
  joined: JoinedProduct | null;
  /** The files of a folder that the config does not have, each with the reason. */
  leftOut: string[];
  text: string;
}

interface ProposeOptions {
  configFile: string;
  /** The folder of this program's package. */
  root: string;
  log: Logger;
  signal: AbortSignal;
}

/** The one source of a config for one file. */
const ONLY_SOURCE = 'erp';

/**
 * Proposes a config for exported files.
 *
 * @throws Fault `usage` for a file that is not recognised, `source.unreadable` for one that cannot be read
 */
export async function proposeConfig(files: readonly string[], options: ProposeOptions): Promise<ProposedConfig> {
  const [only, ...more] = await fileSetsOf(files, options.signal);
  if (only === undefined) throw fault('usage', '--from names no file.');
  if (more.length === 0) return await proposeOne(only, options);
  const found: FoundFile[] = [];
  const refused: Fault[] = [];
  for (const set of [only, ...more]) {
    const one = await findFile(set, options).catch((error: unknown) => {
      if (set.isNamed || !(error instanceof Fault)) throw error;
      refused.push(error);
      return null;
    });
    if (one === null) continue;
    if (one.preset !== undefined) throw presetFault(one);
    found.push({
      ...one,
      source: sourceName(streamName(set.pattern === null ? one.shown : dirname(one.shown)), found),
    });
  }
  const [first, ...others] = found;
  if (first === undefined) throw refused[0] ?? new Error('No file was found.');
  shareEncodings(found);
  const about = others.length === 0 ? nameOf(first) : `${nameOf(first)} and ${counted(others.length, 'other file')}`;
  const config = await configOf(found, about, options);
  return { ...config, leftOut: refused.map(({ message }) => message) };
}

/** A file that has only ASCII shows no encoding. The system that wrote the other files has probably written it in theirs. */
function shareEncodings(files: readonly FoundFile[]): void {
  const encodingOf = ({ recognised }: FoundFile) =>
    [...recognised.options, ...recognised.stream].find(({ name }) => name === 'encoding');
  const shown = files.flatMap((file) => {
    const option = encodingOf(file);
    return option === undefined || option.reason === ONLY_ASCII ? [] : [{ name: nameOf(file), value: option.value }];
  });
  const [first] = shown;
  if (first === undefined || shown.some(({ value }) => value !== first.value)) return;
  for (const file of files) {
    const option = encodingOf(file);
    if (option?.reason !== ONLY_ASCII) continue;
    option.value = first.value;
    option.reason = `only ASCII so far; as in ${first.name}`;
  }
}

async function proposeOne(set: FileSet, options: ProposeOptions): Promise<ProposedConfig> {
  const found = await findFile(set, options);
  if (found.preset === undefined) return await configOf([{ ...found, source: ONLY_SOURCE }], nameOf(found), options);
  const { recognised, path } = found;
  const { source, text } = presetSources(recognised, path, options.root);
  const note = `The mapping comes from config/presets/${found.preset}.yaml, which fits ${recognised.title}.`;
  const proposed = { file: found.head.path, source, recognised, records: [], todo: [] };
  const head = headText([source], `${aboutText(basename(found.head.path))} ${note}`, options.configFile);
  return { files: [proposed], joins: [], joined: null, leftOut: [], text: `${head}${text}` };
}

/** The name of a file, or the pattern of files in their folder. */
function nameOf({ shown, head }: Pick<FoundFile, 'shown' | 'head'>): string {
  return shown === head.path ? basename(head.name) : join(basename(dirname(shown)), basename(shown));
}

const aboutText = (files: string): string => `A first config for ${files}, written by \`dpp-sync init --from\`.`;

function presetFault({ head, recognised }: PresetFile): Error {
  return fault('usage', `${head.path} is ${recognised.title}, whose config has several streams already.`, {
    suggestion: 'Make a config for this file alone, and add the sources of the others to it.',
  });
}

/** The name of a stream as the name of a source, which no earlier file has. */
function sourceName(stream: string, earlier: readonly FoundFile[]): string {
  const plain = stream.toLowerCase().replaceAll(/[-_]+/g, '-').replace(/-$/, '');
  const isTaken = (name: string): boolean => earlier.some(({ source }) => source === name);
  for (let number = 2, name = plain; ; number += 1) {
    if (!isTaken(name)) return name;
    name = `${plain}-${number}`;
  }
}

/** The files, with the records that depend on what the other files have. */
function divided(files: readonly FoundFile[]): FoundFile[] {
  const articles = files.flatMap(({ records }) => records).filter(({ mapping }) => mapping.to !== 'bom_item');
  const known = new Set(
    articles.flatMap(({ key }) => (key?.columns.length === 1 ? (key.columns[0]?.values ?? []) : [])),
  );
  return files.map((file) => ({ ...file, ...file.divide?.(known) }));
}

async function configOf(given: readonly FoundFile[], about: string, options: ProposeOptions): Promise<ProposedConfig> {
  const found = divided(given);
  const all = found.flatMap(({ records }) => records);
  const { files: joined, joins } = all.length === 1 ? { files: all.map(aloneFile), joins: [] } : joinFiles(all);
  const checked: { file: FoundFile; sampled: Sampled; records: FoundRecords }[] = [];
  for (const file of found) {
    for (const given of file.records) {
      const records = joined[all.indexOf(given)] ?? given;
      const { name, sample } = records.stream;
      const sampled = { source: file.source, stream: name, rows: sample.rows, lookups: file.lookups };
      const mapping = await checkProposal(records.mapping, sampled);
      checked.push({ file, sampled, records: { ...records, mapping } });
    }
  }
  const parts = found.map((file) => partsOf(file, recordsOf(file)));
  const sampled = checked.map((one) => ({ mapping: one.records.mapping, sampled: one.sampled }));
  const head = headText(
    found.map(({ source }) => source),
    `${aboutText(about)} ${found.map(seenText).join(' ')}`,
    options.configFile,
  );
  return {
    files: found.map((file, at) => proposedOf(file, recordsOf(file), parts[at])),
    joins,
    leftOut: [],
    joined: all.length === 1 ? null : await joinedProduct(sampled),
    text: `${head}${sourcesText(...parts)}`,
  };

  function recordsOf(file: FoundFile): FoundRecords[] {
    return checked.flatMap((one) => (one.file === file ? [one.records] : []));
  }
}

function partsOf(
  { source, path, recognised, lookups, streams }: FoundFile,
  records: readonly FoundRecords[],
): ConfigParts {
  return {
    source,
    path,
    recognised,
    lookups,
    streams: streams.map((stream) => {
      const own = records.filter((one) => one.stream === stream);
      const { name, options, found, keyless } = stream;
      return {
        stream: name,
        options,
        keyless,
        key: keyOf(stream, own),
        columns: found,
        mappings: own.map(({ mapping }) => mapping),
      };
    }),
  };
}

/** The key of a stream: its own one, or that of its mapping. */
function keyOf({ key }: FoundStream, [first]: readonly FoundRecords[]): FoundRecords['key'] {
  return key === undefined ? (first?.key ?? null) : key;
}

function labelsOf(key: FoundRecords['key']): string[] {
  return key?.columns.map(({ label }) => label) ?? [];
}

function seenText({ streams, ...file }: FoundFile, _at: number, { length }: readonly unknown[]): string {
  const samples = streams.map(({ sample }) => sample);
  const counts = samples.map(
    ({ rows, broken, isWhole }) => `${isWhole ? 'all' : 'the first'} ${counted(rows.length + broken, 'record')}`,
  );
  const readable = samples.every(({ broken }) => broken === 0)
    ? ''
    : `, of which ${samples.map(({ rows }) => rows.length).join(' and ')} can be read`;
  const of = length === 1 && file.shown === file.head.path ? 'the file' : nameOf(file);
  return `The reasons are from ${counts.join(' and ')} of ${of}${readable}.`;
}

function proposedOf(file: FoundFile, records: readonly FoundRecords[], parts: ConfigParts | undefined): ProposedFile {
  const { shown, source, recognised } = file;
  return {
    file: shown,
    source,
    recognised,
    records: records.map((one) => {
      const { name, sample, found } = one.stream;
      const { rows, broken, isWhole } = sample;
      return {
        stream: name,
        key: one.stream.keyless === undefined ? labelsOf(keyOf(one.stream, [one])) : [],
        mapping: one.mapping,
        sample: { records: rows.length, broken, isWhole, columns: found.columns.length },
      };
    }),
    todo: parts === undefined ? [] : todoOf(parts),
  };
}
