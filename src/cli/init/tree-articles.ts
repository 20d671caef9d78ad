// The products and materials that the rows of a bill with levels make.

import type { JsonObject } from '../../lib/json.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { memberAccess } from '../../pipeline/mapping/expressions/name-access.ts';
import { type Column, textAt } from './columns.ts';
import type { FoundKey } from './key-columns.ts';
import { proposeArticle } from './propose-mapping.ts';
import type { ProposedLine, ProposedMapping } from './proposed-line.ts';
import type { FoundTree } from './recognise-tree.ts';

/** The lookup table with the rows that have rows below them. */
export const TABLE = 'assemblies';
/** If another file has this share of the rows, it makes the articles. */
const KNOWN_SHARE_MIN = 0.5;

/** Rows that become articles of one kind. */
export interface ArticleRows {
  to: 'product' | 'material';
  rows: readonly JsonObject[];
  /** The column that names the article of each row. */
  naming: string;
  /** True for the product around the rows, which are about its parts. */
  isAround: boolean;
  reason: string;
  isTodo: boolean;
  /** The condition under which a row is such an article; empty if each row is one. */
  when: string;
}

/** Divides the rows of a bill into those of the articles that no other file has. */
export function articleRows(
  { tree, owner, rows }: { tree: FoundTree; owner: Column | null; rows: readonly JsonObject[] },
  known: ReadonlySet<string>,
): ArticleRows[] {
  const parents = new Set(rows.map((row) => textAt(row, tree.assembly)));
  const hasRows = (row: JsonObject): boolean => parents.has(textAt(row, tree.part));
  const tops = owner === null ? rows.filter((row) => textAt(row, tree.assembly) === '') : [];
  const below = rows.filter((row) => !tops.includes(row));
  const [inner, leaves] = [below.filter(hasRows), below.filter((row) => !hasRows(row))];
  const isMade = (of: readonly JsonObject[], label = tree.part): boolean =>
    of.filter((row) => known.has(textAt(row, label))).length < of.length * KNOWN_SHARE_MIN;

  const [part, assembly] = [memberAccess('row', tree.part), memberAccess('row', tree.assembly)];
  const isBelow = owner === null ? [`${assembly} != ""`] : [];
  const hasRowsBelow = `lookup("${TABLE}", ${part}, "") != ""`;
  const hasNoRowsBelow = inner.length === 0 ? [] : [`lookup("${TABLE}", ${part}, "") == ""`];
  const common = { naming: tree.part, isAround: false, isTodo: false };
  const groups: ArticleRows[] = [];
  if (owner !== null && isMade(rows, owner.label)) {
    const reason = `${owner.label} is the product of the rows that stand in no other row`;
    groups.push({ ...common, to: 'product', rows, naming: owner.label, isAround: true, reason, when: '' });
  }
  if (isMade(tops)) {
    const single = tops.length < 2 ? 0 : tops.filter((row) => !hasRows(row)).length;
    const doubt =
      single === 0
        ? ''
        : `; ${formatCount(single)} of ${counted(tops.length, 'row')} of the top level have no rows below. If these are parts of a product that the file does not name, put a row for it above them`;
    const reason = `rows of the top level${isMade(inner) ? ', and rows that have rows below them' : ''}${doubt}`;
    const made = isMade(inner) ? [...tops, ...inner] : tops;
    const when = [`${assembly} == ""`, ...(isMade(inner) ? [hasRowsBelow] : [])].join(' || ');
    groups.push({ ...common, to: 'product', rows: made, reason, isTodo: single > 0, when });
  } else if (isMade(inner)) {
    const when = [...isBelow, hasRowsBelow].join(' && ');
    groups.push({ ...common, to: 'product', rows: inner, reason: 'rows that have rows below them', when });
  }
  if (isMade(leaves)) {
    const reason =
      'rows that have no rows below them; if they are products of their own, write product, and sku for code';
    const when = [...isBelow, ...hasNoRowsBelow].join(' && ');
    groups.push({ ...common, to: 'material', rows: leaves, reason, isTodo: true, when });
  }
  return groups;
}

/**
 * Proposes the mapping of such rows.
 *
 * @param columns the columns of these rows
 * @param without the names of columns that say nothing about the articles
 */
export function articlesOf(
  { to, naming: label, isAround, reason, isTodo, when }: ArticleRows,
  columns: readonly Column[],
  without: readonly string[],
): { key: FoundKey; mapping: ProposedMapping } {
  const naming = columns.find((column) => column.label === label);
  if (naming === undefined) throw new Error(`The rows have no column ${label}.`);
  const own = columns.filter((column) => !without.includes(column.label));
  const differing = own.filter((column) => column !== naming && varies(column, naming));
  // Columns with several values for one product are about its parts.
  const usable = isAround ? own.filter((column) => !differing.includes(column)) : own;
  const keyReason = `${label} names the article; rows with the same one make one item`;
  const key = { columns: [naming], reason: keyReason, isFlawed: false, others: [] };
  const proposed = proposeArticle(usable, key, to);
  const number: ProposedLine = {
    name: to === 'product' ? 'sku' : 'code',
    expression: naming.access,
    reason: 'as the key',
    isTodo: false,
  };
  const fields = proposed.fields.map((line): ProposedLine => {
    if (line.name === number.name) return number;
    if (line.name === 'name' && line.expression === null) return nameByKey(line, naming);
    const column = differing.find(({ access }) => line.expression?.includes(access));
    if (column === undefined) return line;
    const doubt = `rows with the same ${label} have different values of ${column.label}, and only the first of them can be sent`;
    return { ...line, reason: `${line.reason}; ${doubt}`, isTodo: true };
  });
  const lines = { key: { ...number, name: 'key', reason: keyReason }, fields };
  const condition = when === '' ? {} : { when: { name: 'when', expression: when, reason: '', isTodo: false } };
  return { key, mapping: { ...proposed, reason, isTodo, ...lines, ...condition } };
}

/** The line of a name that no column has. A platform refuses an article without one. */
export function nameByKey(line: ProposedLine, { access, label }: Column): ProposedLine {
  return { ...line, expression: access, reason: `no column has names, so this is ${label}` };
}

/** True if rows of the same article have different values in the column. */
export function varies({ values, indexes }: Column, naming: Pick<Column, 'values' | 'indexes'>): boolean {
  const valueAt = new Map(indexes.map((index, at) => [index, values[at] ?? '']));
  const first = new Map<string, string>();
  return naming.indexes.some((index, at) => {
    const [name = '', value = ''] = [naming.values[at], valueAt.get(index)];
    const known = first.get(name);
    if (known === undefined) first.set(name, value);
    return known !== undefined && known !== value;
  });
}
