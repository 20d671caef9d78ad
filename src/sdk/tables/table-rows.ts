import { formatPlace } from '../../domain/issue.ts';
import type { JsonValue } from '../../lib/json.ts';
import { type FoundColumns, type Page, type SourceRow, sourceFault } from '../connector.ts';
import { groupColumns } from './group-rows.ts';
import type { Group, TableStream, Tree } from './table-options.ts';
import { addIssues, columnOf, isBlank, isEmpty, issuesOf, isUnreadable } from './table-row.ts';
import { createTreeRows, type TreeColumns } from './tree-rows.ts';

/** The rows of one table file, which take values from rows above them. */
export interface TableRows {
  /** Call it before the first row of the file. It throws if a column that an option names is missing. */
  onColumns: (found: FoundColumns) => void;
  /** The columns of the rows, from those of the file. */
  columns(names: readonly string[]): string[];
  /** Completes the rows of a page, without those that are left out. Give it all pages of the file in their order. */
  rows(page: Page): Page;
}

/**
 * Makes the rows of a file as the options say. A file is read from its beginning each time, so a row is the same in each read,
 * wherever a page begins.
 *
 * @param onColumns gets the columns of the rows
 */
export function createTableRows(
  { fill, tree, group }: TableStream,
  onColumns: ((found: FoundColumns) => void) | undefined,
): TableRows {
  let steps: readonly ((row: SourceRow) => void)[] | undefined;
  const added = tree === undefined ? [] : namesOf(tree);
  const columnsOfRows = (names: readonly string[]) => [...names, ...added.filter((name) => !names.includes(name))];
  const columns = (names: readonly string[]) => (group === undefined ? columnsOfRows(names) : groupColumns(group));
  const begin = (found: FoundColumns) => {
    steps = [
      ...(fill === undefined ? [] : [createFillDown(fill.map((name) => columnOf(name, 'fill', found)))]),
      ...(tree === undefined ? [] : [createTreeRows(treeColumns(tree, found))]),
      ...(group === undefined ? [] : [createNames(group, { ...found, names: columnsOfRows(found.names) })]),
    ];
    return steps;
  };
  return {
    columns,
    onColumns(found) {
      onColumns?.({ ...found, names: columns(found.names) });
      begin(found);
    },
    rows(page) {
      for (const row of page.rows) {
        // A connector that does not call `onColumns` has the columns of its first row.
        if (steps === undefined && !isUnreadable(row)) {
          begin({ names: Object.keys(row.fields), where: row.place.file ?? '' });
        }
        for (const step of steps ?? []) step(row);
      }
      return page.rows.some(({ isLeftOut }) => isLeftOut === true)
        ? { ...page, rows: page.rows.filter(({ isLeftOut }) => isLeftOut !== true) }
        : page;
    },
  };
}

/** Gives the columns of a group the names that the config has for them. */
function createNames({ by, sum = {}, first = {} }: Group, found: FoundColumns): (row: SourceRow) => void {
  const wanted = [
    ...by.map((name) => [name, 'group.by']),
    ...Object.values(sum).map((name) => [name, 'group.sum']),
    ...Object.values(first).map((name) => [name, 'group.first']),
  ] as [string, string][];
  const renamed = wanted.flatMap(([name, option]) => {
    const column = columnOf(name, option, found);
    return column === name ? [] : [[name, column] as const];
  });
  return ({ fields }) => {
    for (const [name, from] of renamed) fields[name] = fields[from] ?? '';
  };
}

/** The columns that a tree adds to a row. */
function namesOf({ parent, path }: Tree): string[] {
  return [...Object.keys(parent), ...(path === undefined ? [] : [path])];
}

function treeColumns(tree: Tree, found: FoundColumns): TreeColumns {
  const { level, outline, parent, path = null } = tree;
  const kind = level === undefined ? 'outline' : 'level';
  const taken = namesOf(tree).find((name) => found.names.includes(name));
  if (taken !== undefined) {
    throw sourceFault(`${found.where}: \`tree\` gives a value the name ${taken}, which a column of the file has.`, {
      suggestion: 'Give the value of the parent row another name in `tree`.',
    });
  }
  return {
    kind,
    column: columnOf(level ?? outline ?? '', `tree.${kind}`, found),
    parent: Object.entries(parent).map(([name, column]) => [name, columnOf(column, 'tree.parent', found)] as const),
    path,
  };
}

/** What the rows above have in one column. */
interface Above {
  value: JsonValue;
  /** The issues of that value. */
  issues: NonNullable<SourceRow['issues']>;
  /** The place of an unreadable row below that value, which may have had another one. */
  lost: string | null;
}

const NOTHING: Above = { value: '', issues: [], lost: null };

/**
 * Gives empty cells the value of the row above. Only the values of one row are held.
 *
 * @param columns the columns, that of the outermost group first. Where a column has another value than above, a new group
 *   begins, and the columns after it take nothing from the rows above.
 */
function createFillDown(columns: readonly string[]): (row: SourceRow) => void {
  let above: Above[] = columns.map(() => NOTHING);
  return (row) => {
    const { fields } = row;
    if (isUnreadable(row)) {
      const lost = formatPlace(row.place);
      above = above.map((one) => ({ ...one, lost }));
      return;
    }
    if (isBlank(fields)) return;
    let isSameGroup = true;
    for (const [at, name] of columns.entries()) {
      const value = fields[name] ?? '';
      const { value: last, issues, lost } = above[at] ?? NOTHING;
      if (!isEmpty(value)) {
        if (!isSame(value, last)) isSameGroup = false;
        above[at] = { value, issues: issuesOf(row, name), lost: null };
      } else if (!isSameGroup) above[at] = NOTHING;
      else if (lost !== null) addIssues(row, [lostIssue(name, lost)]);
      else {
        fields[name] = last;
        addIssues(row, issues);
      }
    }
  };
}

function isSame(one: JsonValue, other: JsonValue): boolean {
  return typeof one === 'string' && typeof other === 'string' ? one.trim() === other.trim() : one === other;
}

function lostIssue(field: string, place: string): NonNullable<SourceRow['issues']>[number] {
  return {
    code: 'row.above',
    message: `Column ${field} is empty and takes the value above, but the row at ${place} could not be read, and may have another value.`,
    field,
    cure: `Correct the row at ${place}.`,
    onlyField: true,
  };
}
