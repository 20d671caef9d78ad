import { type FoundColumns, type Page, type SourceRow, sourceFault } from '../connector.ts';
import { createFillDown } from './fill-down.ts';
import { groupColumns } from './group-rows.ts';
import type { Group, TableStream, Tree } from './table-options.ts';
import { columnOf, isUnreadable } from './table-row.ts';
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
