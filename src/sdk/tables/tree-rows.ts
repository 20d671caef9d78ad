import { formatPlace, type ReportedIssue } from '../../domain/issue.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { SourceRow } from '../connector.ts';
import { addIssues, isBlank, isEmpty, issuesOf, isUnreadable } from './table-row.ts';

export interface TreeColumns {
  kind: 'level' | 'outline';
  /** The column with the level or the outline number. */
  column: string;
  /** Columns of the parent row, by the names that they get in the row. The first one names the parent. */
  parent: readonly ParentColumn[];
  /** The name in the row of the path from the top to the row; null if nobody wants it. */
  path: string | null;
}

type ParentColumn = readonly [name: string, column: string];

/** A row that is open, so that rows below it may be its children. */
interface OpenRow {
  place: string;
  /** The outline number; empty for a level. */
  number: string;
  /** The names from the top to the row; empty if they are not certain, or if a row has no name. */
  path: string;
  /** The columns that its children get, in the order of `parent`, with their issues. */
  values: readonly { value: JsonValue; issues: readonly ReportedIssue[] }[];
  /** The place of the row because of which the parent of this row is not certain; null if it is certain. */
  faulty: string | null;
}

/** The place of a row in the tree: how deep it is, and its outline number. */
interface Position {
  level: number;
  number: string;
}

/**
 * Gives each row the columns of its parent: of the nearest row above it whose level is one less. Only the path of open rows is
 * held.
 *
 * Where the level of a row is not certain, the parent of that row and of all rows that hang on it is not certain either. Each of
 * these rows gets an issue. The next row of the top level is certain again.
 */
export function createTreeRows({ kind, column, parent, path: pathName }: TreeColumns): (row: SourceRow) => void {
  const read = kind === 'level' ? readLevel : readOutline;
  const added = [...parent.map(([name]) => name), ...(pathName === null ? [] : [pathName])];
  let path: OpenRow[] = [];
  /** The level of the top; null before the first row with a level. */
  let top: number | null = kind === 'outline' ? 1 : null;
  /** The place of a row whose level is not certain, until the next row of the top level. */
  let lost: string | null = null;

  function lose(row: SourceRow, issue: ReportedIssue | null): void {
    path = [];
    lost = formatPlace(row.place);
    if (issue !== null) addIssues(row, [issue]);
  }

  /** Opens a row. Rows of its level and below are no parents any more. */
  function open(row: SourceRow, depth: number, { number }: Position, faulty: string | null): void {
    path.length = Math.min(path.length, depth);
    const values = parent.map(([, from]) => ({ value: row.fields[from] ?? '', issues: issuesOf(row, from) }));
    const way = faulty === null ? pathOf(path[depth - 1], values[0]?.value) : '';
    path[depth] = { place: formatPlace(row.place), number, path: way, values, faulty };
    if (pathName !== null) row.fields[pathName] = way;
  }

  function hang(row: SourceRow, depth: number, position: Position): void {
    const above = path[depth - 1];
    const isParent = above !== undefined && (kind === 'level' || above.number === parentNumber(position.number));
    const here = formatPlace(row.place);
    if (!isParent) {
      open(row, depth, position, here);
      addIssues(row, [jumpIssue(column, position, kind)]);
      return;
    }
    if (above.faulty !== null) {
      open(row, depth, position, above.faulty);
      addIssues(row, [hangsIssue(above.faulty)]);
      return;
    }
    open(row, depth, position, null);
    const [naming] = parent;
    if (naming !== undefined && isEmpty(above.values[0]?.value)) {
      addIssues(row, [unnamedIssue(naming, above.place)]);
      return;
    }
    for (const [at, [name]] of parent.entries()) {
      const { value = '', issues = [] } = above.values[at] ?? {};
      row.fields[name] = value;
      addIssues(
        row,
        issues.map((issue) => ({ ...issue, field: name })),
      );
    }
  }

  return (row) => {
    const { fields } = row;
    const position = isUnreadable(row) || issuesOf(row, column).length > 0 ? null : read(fields[column] ?? '');
    const isWithoutValues = isBlank(fields);
    for (const name of added) fields[name] = '';
    if (isWithoutValues) return;
    if (position === null) {
      lose(row, isUnreadable(row) ? null : noLevelIssue(column, fields[column] ?? '', kind));
      return;
    }
    const { level } = position;
    if (top === null && lost === null && level > FIRST_TOP_MAX) {
      lose(row, belowTopIssue(column, level));
      return;
    }
    // If the first row is not certain, its level may be 0, which is the top of every tree.
    top ??= lost === null ? level : 0;
    if (level < top) {
      // The rows of the first level so far were taken as the top, although they are not.
      addIssues(row, [aboveTopIssue(column, level, top)]);
      top = level;
      lost = null;
      open(row, 0, position, formatPlace(row.place));
    } else if (level === top) {
      lost = null;
      open(row, 0, position, null);
    } else if (lost !== null) addIssues(row, [hangsIssue(lost)]);
    else hang(row, level - top, position);
  };
}

function pathOf(above: OpenRow | undefined, name: JsonValue | undefined): string {
  if (name === undefined || isEmpty(name) || above?.path === '') return '';
  const own = (typeof name === 'string' ? name : JSON.stringify(name)).trim();
  return above === undefined ? own : `${above.path}/${own}`;
}

/** The highest level with which a tree may begin. */
const FIRST_TOP_MAX = 1;

function readLevel(value: JsonValue): Position | null {
  const [, digits] = (typeof value === 'string' && /^[.\s]*(\d{1,3})$/.exec(value.trim())) || [];
  return digits === undefined ? null : { level: Number(digits), number: '' };
}

const LEVELS_MAX = 999;

function readOutline(value: JsonValue): Position | null {
  if (typeof value !== 'string' || !/^\d{1,9}(?:\.\d{1,9})*\.?$/.test(value.trim())) return null;
  const steps = value.trim().replace(/\.$/, '').split('.').map(Number);
  return steps.length > LEVELS_MAX ? null : { level: steps.length, number: steps.join('.') };
}

/** The outline number of the parent: that of `1.2.3` is `1.2`. */
function parentNumber(number: string): string {
  return number.slice(0, Math.max(0, number.lastIndexOf('.')));
}

const SHOWN_MAX = 200;

function noLevelIssue(field: string, value: JsonValue, kind: TreeColumns['kind']): ReportedIssue {
  const shown = (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, SHOWN_MAX);
  const expected = kind === 'level' ? 'a level such as 2 or ..2' : 'an outline number such as 1.2';
  return {
    code: 'row.level',
    message: `Column ${field} holds ${JSON.stringify(shown)}, but ${expected} is expected.`,
    field,
    value: shown,
  };
}

function belowTopIssue(field: string, level: number): ReportedIssue {
  return {
    code: 'row.level',
    message: `The first row has the level ${level}, but a tree begins with the level 0 or 1.`,
    field,
    value: String(level),
  };
}

function aboveTopIssue(field: string, level: number, top: number): ReportedIssue {
  return {
    code: 'row.level',
    message: `The row has the level ${level}, but the first row has the level ${top}, so a row is missing above the rows before this one. They were read without a parent.`,
    field,
    value: String(level),
  };
}

function jumpIssue(field: string, { level, number }: Position, kind: TreeColumns['kind']): ReportedIssue {
  const message =
    kind === 'level'
      ? `The row has the level ${level}, but no row of the level ${level - 1} is open above it.`
      : `The row has the number ${number}, but the row ${parentNumber(number)} is not above it.`;
  return { code: 'row.level', message, field, value: kind === 'level' ? String(level) : number };
}

function hangsIssue(place: string): ReportedIssue {
  return {
    code: 'row.parent',
    message: `The row hangs on the row at ${place}, whose place in the tree is not certain.`,
    cure: `Correct the row at ${place}. If only this row is to be delivered, give the columns of its parent in a corrected row.`,
  };
}

function unnamedIssue([field, column]: ParentColumn, place: string): ReportedIssue {
  return {
    code: 'row.parent',
    message: `The parent of the row, at ${place}, has no value in the column ${column}.`,
    field,
    cure: `Fill the column ${column} of the row at ${place}.`,
  };
}
