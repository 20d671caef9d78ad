import { fault } from '../domain/faults.ts';
import { comparableName } from '../domain/identifying-text.ts';
import type { LookupConfig, MappingDefinition } from '../domain/mapping.ts';
import type { FoundColumns, HeaderCandidate, SourceRow } from '../domain/ports/source.ts';
import type { Fault } from '../lib/errors.ts';
import { visibleText } from '../lib/text/odd-character.ts';
import { suggest } from '../lib/text/suggest.ts';
import { columnsNamedBy, type NamedColumn } from './mapping/columns-named.ts';
import { memberPresence } from './mapping/expressions/name-access.ts';

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
        const { fields, place, issues } = row;
        if (place.file !== checked && issues === undefined) {
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
