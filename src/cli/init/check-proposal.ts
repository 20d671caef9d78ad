// A proposed mapping is compiled as a run would compile it, and maps the records of the sample.

import { createRowEntries } from '../../domain/lookup.ts';
import type { MappedItem, MappingDefinition, MapResult } from '../../domain/mapping.ts';
import type { JsonObject } from '../../lib/json.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { compileMappings } from '../../pipeline/mapping/compile-mappings.ts';
import { rootOf } from '../../pipeline/mapping/make-item.ts';
import type { FoundLookup } from './found-file.ts';
import { type ProposedLine, type ProposedMapping, writtenExpression } from './proposed-line.ts';

/** The records of a sample, with the names that the config gives them. */
export interface Sampled {
  source: string;
  stream: string;
  rows: readonly JsonObject[];
  lookups?: readonly FoundLookup[];
}

/** Maps the records of the sample; null if the mapping has an error. */
async function mapped(
  mapping: ProposedMapping,
  { source, stream, rows, lookups = [] }: Sampled,
): Promise<MapResult[] | null> {
  const result = await compileMappings({
    source,
    definitions: [definitionOf(mapping, stream)],
    baseDir: '.',
    lookups: Object.fromEntries(lookups.map(({ name, key, value, ...of }) => [name, { ...of, key: [key], value }])),
  });
  if (!result.ok) return null;
  const mapper = result.value;
  const entries = createRowEntries();
  for (const table of mapper.lookups ?? []) for (const fields of rows) entries.add(table, fields);
  return rows.map((fields) => mapper.map({ source, stream, fields, place: {}, issues: [] }, entries.find));
}

/** The items that the records of a sample become; none if the mapping has an error, which the preview of the config names. */
export async function itemsOf(mapping: ProposedMapping, sampled: Sampled): Promise<MappedItem[]> {
  const results = await mapped(mapping, sampled);
  return (results ?? []).flatMap((result) => (result.status === 'mapped' ? result.items : []));
}

/** The codes of rows that lack a value. The reason of a line says how many rows have one. */
const LACKS_VALUE: ReadonlySet<string> = new Set(['field.required', 'refs.product', 'refs.part']);

interface Failure {
  count: number;
  /** The message about the first record. */
  message: string;
}

/**
 * Maps the records of the sample with a proposed mapping. A line that fails for some of them although it is not marked
 * gets a TODO with the message.
 */
export async function checkProposal(mapping: ProposedMapping, sampled: Sampled): Promise<ProposedMapping> {
  const results = await mapped(mapping, sampled);
  // The preview of the written config names the problems.
  if (results === null) return mapping;
  const failures = new Map<string, Failure>();
  for (const result of results) {
    if (result.status !== 'quarantined') continue;
    const named = new Map(result.issues.map((issue) => [nameOf(issue.field), issue]));
    for (const [name, { code, message }] of named) {
      if (LACKS_VALUE.has(code)) continue;
      const known = failures.get(name);
      if (known === undefined) failures.set(name, { count: 1, message });
      else known.count += 1;
    }
  }
  const checked = (line: ProposedLine): ProposedLine => {
    const failure = failures.get(line.name);
    return failure === undefined || line.isTodo ? line : withFailure(line, failure, results.length);
  };
  return {
    ...mapping,
    key: checked(mapping.key),
    refs: mapping.refs.map(checked),
    fields: mapping.fields.map(checked),
  };
}

/** The name of the line to which the field of an issue belongs: `product` for `refs.product`. */
function nameOf(field: string | undefined): string {
  return rootOf(field?.replace(/^refs\./, ''));
}

function withFailure(line: ProposedLine, { count, message }: Failure, records: number): ProposedLine {
  const fails = `fails for ${formatCount(count)} of ${counted(records, 'record')}: ${message}`;
  return { ...line, reason: `${line.reason}; ${fails}`, isTodo: true };
}

function definitionOf({ to, key, when, refs, fields }: ProposedMapping, stream: string): MappingDefinition {
  return {
    stream,
    to,
    key: writtenExpression(key) ?? '',
    ...(when === undefined ? {} : { when: when.expression ?? 'true' }),
    refs: expressionsOf(refs),
    fields: expressionsOf(fields),
    path: 'mappings[0]',
  };
}

function expressionsOf(lines: readonly ProposedLine[]): Record<string, string> {
  return Object.fromEntries(
    lines.flatMap((line) => {
      const expression = writtenExpression(line);
      return expression === null ? [] : [[line.name, expression]];
    }),
  );
}
