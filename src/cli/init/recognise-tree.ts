// Recognises a column with the levels or the outline numbers of a bill of materials.

import type { JsonObject } from '../../lib/json.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { SourceRow } from '../../sdk/connector.ts';
import { createTreeRows } from '../../sdk/tables/tree-rows.ts';
import { type Column, textAt } from './columns.ts';
import { isNamed, rankOf } from './field-names.ts';
import { partColumns } from './propose-mapping.ts';
import type { FoundOption } from './recognise-format.ts';
import { areCodes } from './value-checks.ts';

/** A tree of rows, by the names that its option gives. */
export interface FoundTree {
  kind: 'level' | 'outline';
  /** The column with the level or the outline number. */
  column: string;
  /** The column that names each row. */
  part: string;
  /** The column that a row gets with the name of its parent. */
  assembly: string;
  /** The column that a row gets with the way to it. */
  path: string;
  option: FoundOption;
}

/** If more of the rows do not fit, the column is something else. */
const MISFITS_MAX = 0.2;
/** This share of the rows has to have a value in the column that names them. */
const NAMED_SHARE_MIN = 0.95;

/** @returns null if no column has levels or outline numbers */
export function recogniseTree(columns: readonly Column[], rows: readonly JsonObject[]): FoundTree | null {
  const { quantity } = partColumns(columns);
  // A list of groups of articles may have levels too. Only the lines of a bill have a quantity.
  if (quantity === null) return null;
  const others = columns.filter((column) => column !== quantity.column);
  const found = [...candidates(others, 'level'), ...candidates(others, 'outline')].flatMap((one) => {
    const part = namingColumn(
      others.filter((column) => column !== one.column),
      rows.length,
    );
    return part === null ? [] : (treeOf({ ...one, part, columns }, rows) ?? []);
  });
  return found[0] ?? null;
}

interface Candidate {
  kind: FoundTree['kind'];
  column: Column;
  /** True if the name of the column or its values can hardly mean anything else. */
  isSure: boolean;
}

const LEVEL = /^[.\s]*\d{1,2}$/;
const DOTTED_LEVEL = /^\.+\s*\d{1,2}$/;
const OUTLINE = /^\d{1,4}(?:\.\d{1,4})*\.?$/;
const DEEP_OUTLINE = /^\d+\.\d/;

/** Columns whose values all look like levels or outline numbers, and whose names do not speak against it, the best ones first. */
function candidates(columns: readonly Column[], kind: FoundTree['kind']): Candidate[] {
  const form = kind === 'level' ? LEVEL : OUTLINE;
  const rankOfColumn = ({ label }: Column): number => rankOf(label, kind) ?? Number.POSITIVE_INFINITY;
  return columns
    .filter(({ values }) => values.length > 1 && values.every((value) => form.test(value)))
    .flatMap((column): Candidate[] => {
      const isNamed = rankOfColumn(column) < Number.POSITIVE_INFINITY;
      const isMarked =
        kind === 'level'
          ? column.values.some((value) => DOTTED_LEVEL.test(value))
          : column.values.some((value) => DEEP_OUTLINE.test(value)) && ascends(column.values);
      const isDeep = kind === 'level' || column.values.some((value) => DEEP_OUTLINE.test(value));
      return (isNamed || isMarked) && isDeep ? [{ kind, column, isSure: isNamed }] : [];
    })
    .toSorted((one, other) => rankOfColumn(one.column) - rankOfColumn(other.column));
}

/** True if each number comes after the one above it, as the numbers of an outline do and amounts do not. */
function ascends(values: readonly string[]): boolean {
  const numbers = values.map((value) => value.replace(/\.$/, '').split('.').map(Number));
  return numbers.every((steps, at) => {
    const before = numbers[at - 1] ?? [];
    const differs = steps.findIndex((step, depth) => step !== before[depth]);
    return differs >= 0 && (differs >= before.length || (steps[differs] ?? 0) > (before[differs] ?? 0));
  });
}

/**
 * The column that names each row: that of the number of an article or a part, or else the only one with codes. `Item No.` may be the
 * number of an article or a position, so of several such columns the one with the most different values is taken.
 */
function namingColumn(columns: readonly Column[], rows: number): Column | null {
  const filled = columns.filter(({ values }) => values.length >= rows * NAMED_SHARE_MIN);
  const different = ({ values }: Column): number => new Set(values).size;
  const numbers = filled.filter(({ label }) => isNamed(label, 'sku') || isNamed(label, 'component'));
  const [best] = numbers.toSorted((one, other) => different(other) - different(one));
  if (best !== undefined) return best;
  const codes = filled.filter(({ values }) => areCodes(values) && !values.every((value) => /^\d+$/.test(value)));
  const [only, ...more] = codes;
  return only !== undefined && more.length === 0 ? only : null;
}

function treeOf(
  { kind, column, part, columns, isSure }: Candidate & { part: Column; columns: readonly Column[] },
  rows: readonly JsonObject[],
): FoundTree | null {
  const assembly = freeName(['assembly', 'parent', 'parent_row'], columns);
  const path = freeName(['path', 'tree_path', 'row_path'], columns);
  const tree = { column: column.label, part: part.label, assembly, path };
  const { children, misfits, first } = placesOf({ kind, ...tree }, rows);
  if (children === 0 || misfits > rows.length * MISFITS_MAX || isSaidAlready(tree, { columns, rows, kind }))
    return null;
  const form = kind === 'level' ? 'levels' : 'outline numbers';
  const fits =
    misfits === 0
      ? `${column.label} has ${form}, in which each row has its place`
      : `${column.label} has ${form}, in which ${formatCount(misfits)} of ${counted(rows.length, 'row')} have no place: ${first}`;
  const doubt = isSure ? '' : `; keep it if ${column.label} is what says which rows belong to which`;
  const value = { [kind]: column.label, parent: { [assembly]: part.label }, path };
  const option: FoundOption = { name: 'tree', value, reason: `${fits}${doubt}`, isTodo: misfits > 0 || !isSure };
  return { kind, ...tree, option };
}

function freeName(names: readonly string[], columns: readonly Column[]): string {
  const taken = new Set(columns.map(({ label }) => label.toLowerCase()));
  const free = names.find((name) => !taken.has(name));
  return free ?? `${names[0] ?? ''}_${taken.size}`;
}

type Names = Pick<FoundTree, 'kind' | 'column' | 'part' | 'assembly' | 'path'>;

/** The rows with the columns of their parents, as a run gives them. */
function treeRows({ kind, column, part, assembly, path }: Names, rows: readonly JsonObject[]): SourceRow[] {
  const complete = createTreeRows({ kind, column, parent: [[assembly, part]], path });
  return rows.map((fields) => {
    const row: SourceRow = { fields: { ...fields }, place: {} };
    complete(row);
    return row;
  });
}

function placesOf(names: Names, rows: readonly JsonObject[]) {
  const made = treeRows(names, rows);
  const misfits = made.filter(({ issues = [] }) => issues.length > 0);
  const children = made.filter(({ fields }) => fields[names.assembly] !== '').length;
  return { children, misfits: misfits.length, first: misfits[0]?.issues?.[0]?.message ?? '' };
}

/** True if a column of the file says the parent of each row already. Then the rows need no tree. */
function isSaidAlready(
  tree: Omit<Names, 'kind'>,
  { columns, rows, kind }: { columns: readonly Column[]; rows: readonly JsonObject[]; kind: Names['kind'] },
): boolean {
  const children = treeRows({ ...tree, kind }, rows).filter(({ fields }) => fields[tree.assembly] !== '');
  return columns.some(({ label }) =>
    children.every(({ fields }) => textAt(fields, label) === textAt(fields, tree.assembly)),
  );
}
