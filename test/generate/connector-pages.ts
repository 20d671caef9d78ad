// The parts of docs/connectors/ that are generated from the schemas of the connectors. The rest of each page is written by
// hand.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StreamKey } from '../../src/config/config.ts';
import { type SchemaTree, schemaTreeOf } from '../../src/config/schema/schema-walk.ts';
import type { Connector, StreamReads } from '../../src/sdk/connector.ts';
import { FILE_SOURCE, FILE_STREAM } from '../../src/sdk/files/file-options.ts';
import { z } from '../../src/sdk/index.ts';
import { TABLE_STREAM } from '../../src/sdk/tables/table-options.ts';
import { cell, schemaSections } from './schema-tables.ts';

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = 'docs/connectors';
const BEGIN = '<!-- generated from the code: change it there, then `npm run generate` -->';
const END = '<!-- end of what is generated -->';

/** The pages of all connectors, the pages about files and tables, and the list of connectors, by path. */
export function connectorPages(connectors: readonly Connector[]): Record<string, string> {
  const parts: Record<string, string> = {
    'README.md': connectorList(connectors),
    'files.md': fileOptions(),
    'tables.md': schemaSections(schemaTreeOf(z.strictObject(TABLE_STREAM))).join('\n'),
    ...Object.fromEntries(connectors.map((connector) => [`${connector.id}.md`, connectorOptions(connector)])),
  };
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [`${FOLDER}/${name}`, withPart(name, part)]));
}

/** A page of the repository with its generated part replaced. */
function withPart(name: string, part: string): string {
  const page = readFileSync(join(ROOT, FOLDER, name), 'utf8');
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`${FOLDER}/${name} lacks the lines ${BEGIN} and ${END}.`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${part.trim()}\n\n${page.slice(end)}`;
}

function connectorList(connectors: readonly Connector[]): string {
  const rows = connectors.map((connector) => {
    const given = new Set([...readsOf(connector).keys()].map((reads) => `\`${reads}\``));
    return `| [${connector.id}](${connector.id}.md) | ${cell(connector.title)} | ${[...given].join(', ')} |`;
  });
  return ['| connector | reads | its streams give |', '|---|---|---|', ...rows].join('\n');
}

function fileOptions(): string {
  return [
    '### Under a stream\n',
    ...schemaSections(schemaTreeOf(z.strictObject(FILE_STREAM))),
    "### In the source's options\n",
    ...schemaSections(schemaTreeOf(z.strictObject(FILE_SOURCE))),
  ].join('\n');
}

function connectorOptions(connector: Connector): string {
  const { fixedColumns = false } = connector;
  const options = ownOptions(connector.options, FILE_SOURCE);
  const stream = ownOptions(connector.streamOptions, { ...FILE_STREAM, ...TABLE_STREAM });
  const ofTables = stream.common.filter((name) => name in TABLE_STREAM);
  const ofFiles = stream.common.filter((name) => name in FILE_STREAM);
  const shared = Object.keys(stream.own.properties ?? {}).filter((name) => isSame(options.own, stream.own, name));
  const key = schemaTreeOf(StreamKey);
  const streamOnly = { ...stream.own, properties: { key, ...without(stream.own.properties ?? {}, shared) } };
  return [
    '## Options of the source\n',
    ...schemaSections(options.own),
    ...(hasSecret(options.own) ? ['The value of a secret is never shown, logged or stored.\n'] : []),
    ...alsoIn(options.common, 'servers and packed files'),
    '## Options of a stream\n',
    ...schemaSections(streamOnly),
    ...(shared.length === 0
      ? []
      : [`These options may also stand under a stream, and then apply to that stream only: ${names(shared)}.\n`]),
    ...alsoIn(ofFiles, 'files'),
    ...(ofTables.length === 0
      ? []
      : [
          `[Rows that belong together](tables.md#options) describes the options for rows of one table: ${names(ofTables)}.\n`,
        ]),
    '## What a stream gives\n',
    ...readsTable(connector),
    fixedColumns
      ? 'Every row of a stream has the same columns. If a column that the key or a mapping names is absent, the pull stops.'
      : 'A row may lack members that other rows have. A mapping has to ask whether a member exists: `has(row.NAME) ? row.NAME : null`.',
  ].join('\n');
}

interface OwnOptions {
  own: SchemaTree;
  /** The names of the options that the page about files describes. */
  common: string[];
}

/** Separates the options that only one connector has. A common option is the same object in each schema. */
function ownOptions(schema: z.ZodType, common: Readonly<Record<string, z.ZodType>>): OwnOptions {
  const tree = schemaTreeOf(schema);
  const shape = (schema as z.ZodObject).shape as Record<string, z.ZodType>;
  const found = Object.keys(shape).filter((name) => shape[name] === common[name]);
  return { own: { ...tree, properties: without(tree.properties ?? {}, found) }, common: found };
}

function isSame(one: SchemaTree, other: SchemaTree, name: string): boolean {
  const description = one.properties?.[name]?.description;
  return description !== undefined && description === other.properties?.[name]?.description;
}

function without<Value>(members: Record<string, Value>, left: readonly string[]): Record<string, Value> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !left.includes(name)));
}

function hasSecret({ properties = {} }: SchemaTree): boolean {
  return Object.values(properties).some(({ secret }) => secret === true);
}

function names(list: readonly string[]): string {
  return list.map((name) => `\`${name}\``).join(', ');
}

function alsoIn(common: readonly string[], what: string): string[] {
  return common.length === 0
    ? []
    : [`[Where files come from](files.md#options) describes the options for ${what}: ${names(common)}.\n`];
}

const GIVES: Record<StreamReads, string> = {
  snapshot:
    '`snapshot`: everything that the source has. A record of an earlier read that is now absent counts as missing.',
  changes:
    '`changes`: the records that have changed since the last read. A record that is absent does not count as missing.',
  'changes-and-snapshot':
    '`changes-and-snapshot`: the records that have changed since the last read. When the last snapshot is older than `snapshotEvery` of the source, a read gives everything.',
};

function readsTable(connector: Connector): string[] {
  const rows = [...readsOf(connector)].map(([reads, settings]) => `| ${settings.join(', ')} | ${GIVES[reads]} |`);
  return ['| with | a read gives |', '|---|---|', ...rows, ''];
}

/** The kinds of reads of a stream, each with the settings that cause it. Each option is tried alone. */
function readsOf(connector: Connector): Map<StreamReads, string[]> {
  const { properties = {} } = schemaTreeOf(connector.streamOptions);
  const defaults = Object.fromEntries(Object.entries(properties).map(([name, option]) => [name, option.default]));
  const usual = connector.reads({}, defaults);
  const found = new Map<StreamReads, string[]>();
  for (const [name, { enum: values = ['a column'], default: fallback }] of Object.entries(properties)) {
    const settings = values.map((value) => ({ value, reads: connector.reads({}, { ...defaults, [name]: value }) }));
    if (settings.every(({ reads }) => reads === usual)) continue;
    const isListed = properties[name]?.enum !== undefined;
    if (!isListed) add(usual, `no \`${name}\``);
    for (const { value, reads } of settings) {
      const setting = isListed ? `\`${name}: ${String(value)}\`` : `\`${name}\``;
      add(reads, value === fallback ? `${setting} (the default)` : setting);
    }
  }
  function add(reads: StreamReads, setting: string): void {
    found.set(reads, [...(found.get(reads) ?? []), setting]);
  }
  return found;
}
