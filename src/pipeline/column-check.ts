import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { fault } from '../domain/faults.ts';
import type { LookupConfig, MappingDefinition } from '../domain/mapping.ts';
import { comparableName } from '../domain/natural-key.ts';
import type { FoundColumns, HeaderCandidate, SourceRow } from '../domain/ports/source.ts';
import type { Fault } from '../lib/errors.ts';
import { visibleText } from '../lib/text/safe-text.ts';
import { suggest } from '../lib/text/suggest.ts';
import { isNode, memberPresence } from './mapping/expressions/name-access.ts';

/** The settings of a source in which columns are named. */
interface NamingSource {
  id: string;
  mappings: readonly MappingDefinition[];
  lookups: Readonly<Record<string, LookupConfig>>;
  /** The path of the source in the config. */
  path: string;
}

/**
 * The columns that every row of a stream needs: those of its key, those that its mappings name, and those that lookups of any
 * source take from it.
 */
export function neededColumns(
  source: NamingSource,
  stream: { name: string; key: readonly string[]; path: string },
  sources: readonly NamingSource[],
): NamedColumn[] {
  const named = source.mappings.filter((mapping) => mapping.stream === stream.name).flatMap(columnsNamedBy);
  const lookedUp = sources.flatMap((other) =>
    Object.entries(other.lookups)
      .filter(([, lookup]) => lookup.stream === stream.name && (lookup.source ?? other.id) === source.id)
      .flatMap(([name, { key, value }]) =>
        [...key, ...[value].flat()].map((column) => ({ name: column, path: `${other.path}.lookups.${name}` })),
      ),
  );
  const ofKey = stream.key.map((name) => ({ name, path: `${stream.path}.key` }));
  // If several places in the config name a column, a message shows the first one.
  const columns = new Map<string, NamedColumn>();
  for (const column of [...ofKey, ...named, ...lookedUp])
    if (!columns.has(column.name)) columns.set(column.name, column);
  return [...columns.values()];
}

/**
 * Checks the columns of a stream whose rows all have the same columns. Each function throws a Fault `source.unreadable`.
 *
 * A column that was renamed or left out of an export would put every row of it into quarantine, and so would a line above
 * the header. So the run stops before the first row is stored, and no record is marked as missing.
 *
 * @param others the columns that the config names and that need not be there
 */
export function createColumnCheck(needed: readonly NamedColumn[], others: readonly string[] = []) {
  const named = [...needed.map(({ name }) => name), ...others];
  let checked: string | null | undefined = null;
  let names: ReadonlyMap<string, string> = new Map();
  /** Checks the columns of a file or query before its rows. */
  function columns(found: MaybeNamedColumns): void {
    names = namesOfConfig(found.names, named);
    const missing = missingColumns(needed, { ...found, names: found.names.map((name) => names.get(name) ?? name) });
    if (missing !== null) throw missing;
    checked = found.where;
  }
  return {
    columns,
    /**
     * Checks each file that `columns` was not called for, by its first row that could be read. Returns the rows with the
     * names of the config: see `namesOfConfig`.
     */
    rows(rows: SourceRow[]): SourceRow[] {
      if (named.length === 0) return rows;
      return rows.map((row) => {
        const { fields, place, issues, isGone } = row;
        if (place.file !== checked && issues === undefined && isGone !== true) {
          columns({ names: Object.keys(fields), where: place.file });
        }
        return renameColumns(row, names);
      });
    },
  };
}

export type ColumnCheck = ReturnType<typeof createColumnCheck>;

type MaybeNamedColumns = Omit<FoundColumns, 'where'> & { where: string | undefined };

/** The error for columns that are not there; null if all are there. */
function missingColumns(
  needed: readonly NamedColumn[],
  { names: present, where, rowsBelow = () => [], skipped, headerNames = present.length }: MaybeNamedColumns,
): Fault | null {
  const known = new Set(present);
  const missing = needed.filter(({ name }) => !known.has(name));
  const [first] = missing;
  if (first === undefined) return null;
  const named = missing.map(({ name }) => {
    const meant = suggest(name, present);
    return { name: visibleText(name), meant: meant === undefined ? undefined : visibleText(meant) };
  });
  const [one] = named;
  const sentence =
    named.length === 1 && one !== undefined
      ? `the column ${one.name} is missing${one.meant === undefined ? '.' : `; did you mean ${one.meant}?`}`
      : `these columns are missing: ${named.map(({ name, meant }) => (meant === undefined ? name : `${name} (did you mean ${meant}?)`)).join(', ')}.`;
  const message = where === undefined ? sentence.replace(/^t/, 'T') : `${where}: ${sentence}`;
  const above = headerAmong(missing, skipped?.rows() ?? []);
  if (skipped !== undefined && above !== undefined) {
    const row = `${above.title.charAt(0).toLowerCase()}${above.title.slice(1)}`;
    return fault(
      'source.unreadable',
      `${message} \`${skipped.option}\` skips ${row}, which has ${columnsOf(missing, above)}, so it is the header.`,
      {
        path: first.path,
        suggestion: `Set \`${above.option}\` (under the stream, if other files of the source need \`${skipped.option}\`).`,
      },
    );
  }
  const below = rowsBelow();
  const header = headerAmong(missing, below);
  if (header !== undefined) {
    return fault(
      'source.unreadable',
      `${message} ${header.title} has ${columnsOf(missing, header)}, so it is the header.`,
      {
        path: first.path,
        suggestion: `Remove what stands above the header from the export, or set \`${header.option}\`.`,
      },
    );
  }
  const there = `${message} ${columnsThere(present)}`;
  const cure = `Correct the name in the config, or export the column.${otherCure(first, present)}`;
  const wide = wideRowBelow(headerNames, below);
  if (wide === undefined) return fault('source.unreadable', there, { path: first.path, suggestion: cure });
  const has = headerNames === 1 ? 'one name' : `${headerNames} names`;
  return fault(
    'source.unreadable',
    `${there} ${wide.title} has ${filledIn(wide)} values, and the header has ${has}, so the header may be a title.`,
    {
      path: first.path,
      suggestion: `If it is a title, set \`${wide.option}\`, and write the names of the columns in the config. ${cure}`,
    },
  );
}

/** The first row that has most of the missing columns as its values. */
function headerAmong(missing: readonly NamedColumn[], rows: readonly HeaderCandidate[]): HeaderCandidate | undefined {
  return rows.find(({ values }) => 2 * missing.filter(({ name }) => values.includes(name)).length > missing.length);
}

/** The first row that has at least twice as many values as the header has names: the header may be a title above it. */
function wideRowBelow(headerNames: number, rows: readonly HeaderCandidate[]): HeaderCandidate | undefined {
  return headerNames === 0 ? undefined : rows.find((row) => filledIn(row) >= 2 * headerNames);
}

function filledIn({ values }: HeaderCandidate): number {
  return values.filter((value) => value !== '').length;
}

function columnsOf(missing: readonly NamedColumn[], { values }: HeaderCandidate): string {
  const found = missing.map(({ name }) => name).filter((name) => values.includes(name));
  const shown = found.slice(0, COLUMNS_SHOWN).join(', ');
  return found.length > COLUMNS_SHOWN ? `${shown} and ${found.length - COLUMNS_SHOWN} more` : shown;
}

/** The most columns and characters of a name that a message shows. */
const COLUMNS_SHOWN = 8;
const NAME_SHOWN = 60;

function columnsThere(present: readonly string[]): string {
  const shown = present.slice(0, COLUMNS_SHOWN).map((name) => `"${visibleText(name).slice(0, NAME_SHOWN)}"`);
  if (shown.length === 0) return 'There is no column.';
  const more = present.length - shown.length;
  return `${present.length === 1 ? 'There is one column' : 'There are'}: ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

function otherCure({ name, path }: NamedColumn, present: readonly string[]): string {
  // With a wrong delimiter or encoding there is only one column, and its name contains the names of all columns.
  if (present.length === 1) return ' If the file has more columns, check `delimiter` and `encoding`.';
  // The config names the columns of a key without an expression, so `has(…)` cannot be used there.
  if (path.endsWith('.key')) return '';
  return ` If the column may be absent, write in the expression: ${memberPresence('row', name)}.`;
}

/** Makes sentences about needed columns that no row has had so far, if the rows have a column with a similar name. */
export function likelyMisspelt(needed: readonly NamedColumn[], seen: readonly string[]): string[] {
  return needed.flatMap(({ name, path }) => {
    const meant = seen.includes(name) ? undefined : suggest(name, seen);
    return meant === undefined ? [] : [`${path} names ${name}, which the first record lacks; did you mean ${meant}?`];
  });
}

/**
 * Makes sentences about names in the `omit` of a source that are no column of it, because such a column would be stored under
 * its other name.
 *
 * @param seen the columns of all streams of the source
 * @param isTable if false, a record need not have all columns, and only a name that looks misspelt is reported
 */
export function withoutColumn(
  { omit, path, mappings }: { omit: readonly string[]; path: string; mappings: readonly MappingDefinition[] },
  seen: readonly string[],
  isTable: boolean,
): string[] {
  const known = new Set(seen.map(comparableName));
  // A column that a mapping uses is not meant.
  const used = new Set(mappings.flatMap(columnsMentionedBy).map(comparableName));
  const unused = seen.filter((name) => !used.has(comparableName(name)));
  return omit.flatMap((name, index) => {
    const meant = suggest(name, unused);
    if (known.has(comparableName(name)) || (!isTable && meant === undefined)) return [];
    const cure = meant === undefined ? '' : ` Did you mean ${visibleText(meant)}?`;
    const where = isTable ? 'no stream of the source has' : 'the first record of each stream lacks';
    return [`${path}.omit[${index}] names ${visibleText(name)}, which ${where}, so nothing is left out.${cure}`];
  });
}

/**
 * The config's names of columns of a table whose names differ from them only in form, by the names in the table. A column that has
 * exactly a name of the config is not renamed, and neither is one of several columns with similar names.
 */
function namesOfConfig(present: readonly string[], named: Iterable<string>): ReadonlyMap<string, string> {
  const exact = new Set(present);
  const byForm = Map.groupBy(present, comparableName);
  const renamed = new Map<string, string>();
  for (const name of named) {
    if (exact.has(name)) continue;
    const [like, other] = byForm.get(comparableName(name)) ?? [];
    if (like !== undefined && other === undefined && !renamed.has(like)) renamed.set(like, name);
  }
  return renamed;
}

/** The row with the config's names. The order of its fields does not change. */
function renameColumns(row: SourceRow, names: ReadonlyMap<string, string>): SourceRow {
  if (names.size === 0) return row;
  const nameOf = (name: string): string => names.get(name) ?? name;
  const fields = Object.fromEntries(Object.entries(row.fields).map(([name, value]) => [nameOf(name), value]));
  const issues = row.issues?.map((issue) =>
    issue.field === undefined ? issue : { ...issue, field: nameOf(issue.field) },
  );
  return { ...row, fields, ...(issues === undefined ? {} : { issues }) };
}

/** A column that a mapping needs in every row. */
interface NamedColumn {
  name: string;
  /** Where the expression stands in the config, such as `sources[0].mappings[1].fields.name`. */
  path: string;
}

/**
 * The columns that a mapping needs: without one of them it fails for every row to which it applies. A column whose
 * presence the expression asks for (`has(row.X)`, `"X" in row`) may be absent. If `when` asks for a column, it may be
 * absent in the whole mapping. The columns that a module uses are not known.
 */
export function columnsNamedBy(definition: MappingDefinition): (NamedColumn & { expression: string })[] {
  const { path, when, each, key, refs = {}, fields = {} } = definition;
  const expressions: [at: string, text: string | undefined][] = [
    ['when', when],
    ['each', each],
    ['key', key],
    ...Object.entries(refs).map(([role, text]): [string, string | undefined] => [`refs.${role}`, text]),
    ...Object.entries(fields).map(([name, text]): [string, string] => [`fields.${name}`, text]),
  ];
  const named = new Map<string, NamedColumn & { expression: string }>();
  let asked: ReadonlySet<string> = new Set();
  for (const [at, text] of expressions) {
    const found = columnsIn(text);
    if (found === null) continue;
    if (at === 'when') asked = found.asked;
    for (const name of found.read) {
      if (found.asked.has(name) || asked.has(name) || named.has(name)) continue;
      named.set(name, { name, path: `${path}.${at}`, expression: text?.trim() ?? '' });
    }
  }
  return [...named.values()];
}

/** All columns that a mapping names, also those whose presence it asks for. */
export function columnsMentionedBy({ when, each, key, refs = {}, fields = {} }: MappingDefinition): string[] {
  const texts = [when, each, key, ...Object.values(refs), ...Object.values(fields)];
  return texts.flatMap((text) => {
    const found = columnsIn(text);
    return found === null ? [] : [...found.read, ...found.asked];
  });
}

interface ColumnsIn {
  read: Set<string>;
  /** The columns whose presence the expression asks for. */
  asked: Set<string>;
}

/** Null for an expression that is not valid CEL. The compiler of mappings reports it. */
function columnsIn(text: string | undefined): ColumnsIn | null {
  if (text === undefined) return null;
  const columns: ColumnsIn = { read: new Set(), asked: new Set() };
  try {
    collect(new Environment().parse(text.trim()).ast, columns);
  } catch {
    return null;
  }
  return columns;
}

function collect(node: ASTNode, columns: ColumnsIn): void {
  const { read, asked } = columns;
  if (node.op === '.' || node.op === '[]') addMember(node.args[0], node.args[1], read);
  else if (node.op === 'in') addMember(node.args[1], node.args[0], asked);
  else if (node.op === 'call' && node.args[0] === 'has') {
    const [tested] = node.args[1];
    if (tested?.op === '.' || tested?.op === '[]') addMember(tested.args[0], tested.args[1], asked);
  }
  collectAll(node.args, columns);
}

/** `args` holds nodes, texts, and lists of either. */
function collectAll(part: unknown, columns: ColumnsIn): void {
  if (Array.isArray(part)) for (const entry of part) collectAll(entry, columns);
  else if (isNode(part)) collect(part, columns);
}

function addMember(owner: ASTNode, member: ASTNode | string, to: Set<string>): void {
  if (owner.op !== 'id' || owner.args !== 'row') return;
  const name = typeof member === 'string' ? member : member.op === 'value' ? member.args : undefined;
  if (typeof name === 'string') to.add(name);
}
