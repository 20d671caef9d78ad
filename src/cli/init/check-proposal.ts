// A proposed mapping is compiled as a run would compile it, and maps the records of the sample.

import type { MappedItem, Mapper, MappingDefinition } from '../../domain/mapping.ts';
import type { JsonObject } from '../../lib/json.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { compileMappings } from '../../pipeline/mapping/compile-mappings.ts';
import { rootOf } from '../../pipeline/mapping/make-item.ts';
import { type ProposedLine, type ProposedMapping, writtenExpression } from './proposed-line.ts';

/** The source and the stream of a sample. */
interface At {
  source: string;
  stream: string;
}

async function compiled(mapping: ProposedMapping, at: At): Promise<Mapper | null> {
  const result = await compileMappings({
    source: at.source,
    definitions: [definitionOf(mapping, at.stream)],
    baseDir: '.',
  });
  return result.ok ? result.value : null;
}

/** The items that the records of a sample become; none if the mapping has an error, which the preview of the config names. */
export async function itemsOf(mapping: ProposedMapping, rows: readonly JsonObject[], at: At): Promise<MappedItem[]> {
  const mapper = await compiled(mapping, at);
  return rows.flatMap((fields) => {
    const result = mapper?.map({ ...at, fields, place: {}, issues: [] });
    return result?.status === 'mapped' ? result.items : [];
  });
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
export async function checkProposal(
  mapping: ProposedMapping,
  rows: readonly JsonObject[],
  at: At,
): Promise<ProposedMapping> {
  const mapper = await compiled(mapping, at);
  // The preview of the written config names the problems.
  if (mapper === null) return mapping;
  const failures = new Map<string, Failure>();
  for (const fields of rows) {
    const result = mapper.map({ ...at, fields, place: {}, issues: [] });
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
    return failure === undefined || line.isTodo ? line : withFailure(line, failure, rows.length);
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

function definitionOf({ to, key, refs, fields }: ProposedMapping, stream: string): MappingDefinition {
  return {
    stream,
    to,
    key: writtenExpression(key) ?? '',
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
