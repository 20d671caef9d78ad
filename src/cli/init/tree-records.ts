// What the rows of a bill with levels become: its lines, and the products and materials that no other file has.

import type { JsonObject } from '../../lib/json.ts';
import { type Column, type Columns, columnsOf, isComplete, textAt } from './columns.ts';
import { isNamed } from './field-names.ts';
import type { Divided, FoundLookup, FoundRecords, FoundStream } from './found-file.ts';
import { type FoundKey, isUniqueTogether, TWICE } from './key-columns.ts';
import { partColumns, proposeBomItem } from './propose-mapping.ts';
import { chosen, type ProposedMapping } from './proposed-line.ts';
import type { FoundTree } from './recognise-tree.ts';
import { type ArticleRows, articleRows, articlesOf, TABLE, varies } from './tree-articles.ts';

/** A bill with levels. */
export interface TreeFile {
  /** The name of the file, for reasons. */
  name: string;
  stream: FoundStream;
  tree: FoundTree;
}

/**
 * Divides the rows of a bill: each row below another one is a BOM item. Rows with rows below them are products, and the others are
 * materials, unless another file has them.
 *
 * @param known the keys of the articles in other files
 */
export function treeRecords({ name, stream: given, tree }: TreeFile, known: ReadonlySet<string>): Divided {
  const { sample, found } = given;
  const rows = sample.rows.filter((row) => textAt(row, tree.part) !== '');
  const owner = ownerOf(found.columns, tree, rows);
  const stream = { ...given, ...streamKey(found, tree, owner) };
  const ofTree = [tree.assembly, tree.path, tree.column];
  const common = { stream, name, isWhole: sample.isWhole, hasKey: false };
  const articles = articleRows({ tree, owner, rows }, known).map((group: ArticleRows): FoundRecords => {
    const columns = columnsOf(group.rows);
    return { ...common, found: columns, isCertain: true, ...articlesOf(group, columns.columns, ofTree) };
  });
  const below = owner === null ? rows.filter((row) => textAt(row, tree.assembly) !== '') : rows;
  const records = [...articles, { ...common, ...linesOf(below, tree, owner) }];
  const usesTable = records.some(({ mapping }) => mapping.when?.expression?.includes(`"${TABLE}"`) === true);
  const lookup: FoundLookup = {
    name: TABLE,
    stream: stream.name,
    key: tree.assembly,
    value: tree.assembly,
    reason: 'the rows that have rows below them',
  };
  return { streams: [stream], records, lookups: usesTable ? [lookup] : [] };
}

/**
 * A column with the product of the rows that stand in no other row: the product of a list that has no row for it. Null if the
 * rows of the top level are the products.
 */
function ownerOf(columns: readonly Column[], tree: FoundTree, rows: readonly JsonObject[]): Column | null {
  const own = [tree.part, tree.assembly, tree.path, tree.column];
  const owner = columns.find(
    (column) =>
      !own.includes(column.label) && isNamed(column.label, 'product') && column.values.length === column.records,
  );
  if (owner === undefined) return null;
  // If the products stand in rows of their own, these are the rows around the others.
  const parts = new Set(rows.map((row) => textAt(row, tree.part)));
  return owner.values.some((value) => parts.has(value)) ? null : owner;
}

// The BOM items that the rows of a bill with levels make.

/**
 * Proposes the mapping of the rows that are parts of others.
 *
 * @param owner the column with the product of the rows that stand in no other row; null if each of the rows stands in one
 */
function linesOf(
  rows: readonly JsonObject[],
  tree: FoundTree,
  owner: Column | null,
): { found: Columns; key: FoundKey; mapping: ProposedMapping } {
  const found = columnsOf(rows);
  const named = (label: string): Column => {
    const column = found.columns.find((one) => one.label === label);
    if (column === undefined) throw new Error(`The rows have no column ${label}.`);
    return column;
  };
  const part = named(tree.part);
  const product = owner === null ? named(tree.assembly) : eitherColumn(named(tree.assembly), owner, rows);
  const position = positionOf(found.columns, tree);
  const way = [...(owner === null ? [] : [named(owner.label)]), named(tree.path)];
  const isTwice = !isUniqueTogether(way, found.repeats);
  // Where a part stands twice in an assembly, only its position distinguishes the two items.
  const isPositioned = isTwice && position !== null && isUniqueTogether([...way, position], found.repeats);
  const keyColumns = isPositioned ? [product, part, position] : [product, part];
  const isFlawed = isTwice && !isPositioned;
  const doubt = isFlawed ? `; ${TWICE}` : '';
  const reason = `${keyColumns.map(({ label }) => label).join(' and ')} name an item${doubt}`;
  const key = { columns: keyColumns, reason, isFlawed, others: [] };
  // A position in the whole file differs where an assembly stands twice, and then its items would differ too.
  const item = {
    values: product.values.map((value, at) => `${value}/${part.values[at] ?? ''}`),
    indexes: part.indexes,
  };
  const isUnstable = position !== null && !isPositioned && varies(position, item);
  const unusable = [tree.column, tree.path, tree.part, isUnstable ? position.label : ''];
  const fields = found.columns.filter(({ label }) => !unusable.includes(label));
  return {
    found: { ...found, columns: [...found.columns.filter((one) => one !== product), product] },
    key,
    mapping: lineMapping(fields, key, { tree, part, product, isAll: owner !== null }),
  };
}

/** The parent of a row, or else the product that the row names, as one column. */
function eitherColumn(parent: Column, owner: Column, rows: readonly JsonObject[]): Column {
  const texts = rows.map((row) => textAt(row, parent.label) || textAt(row, owner.label));
  return {
    ...parent,
    label: `${parent.label} or ${owner.label}`,
    access: `(${parent.access} != "" ? ${parent.access} : ${owner.access})`,
    values: texts,
    given: texts,
    indexes: texts.map((_, at) => at),
  };
}

/** The position of a row in its assembly. An outline number is a position in the whole file, and changes with other rows. */
function positionOf(columns: readonly Column[], tree: FoundTree): Column | null {
  const isPosition = (column: Column): boolean =>
    column.label !== tree.column && isNamed(column.label, 'position') && isComplete(column);
  return columns.find(isPosition) ?? null;
}

function lineMapping(
  fields: readonly Column[],
  key: FoundKey,
  { tree, part, product, isAll }: { tree: FoundTree; part: Column; product: Column; isAll: boolean },
): ProposedMapping {
  const { quantity } = partColumns(fields);
  const reason = isAll
    ? 'each row is a part of the row around it, or of the product'
    : 'rows that stand in another row';
  const mapping = proposeBomItem(fields, key, { product: chosen(product), component: chosen(part), quantity, reason });
  const refs = mapping.refs.map((line) =>
    line.name === 'product' ? { ...line, reason: `${tree.part} of the row around it` } : line,
  );
  const when = { name: 'when', expression: `${product.access} != ""`, reason: '', isTodo: false };
  return { ...mapping, ...(isAll ? {} : { when }), refs };
}

/** The key of the stream: the way to each row, and its position if a part stands twice in an assembly. */
function streamKey(
  { columns, repeats }: Columns,
  tree: FoundTree,
  owner: Column | null,
): Pick<FoundStream, 'key' | 'keyless'> {
  const path = columns.find(({ label }) => label === tree.path);
  const way = [...(owner === null ? [] : [owner]), ...(path === undefined ? [] : [path])];
  const position = positionOf(columns, tree);
  const keys = [way, ...(position === null ? [] : [[...way, position]])];
  const key = keys.find((one) => one.every(isComplete) && isUniqueTogether(one, repeats));
  if (key === undefined) {
    return { keyless: 'several rows have the same way to them, so their content identifies the rows' };
  }
  return { key: { columns: key, reason: 'the way to the row, different in all of them', isFlawed: false, others: [] } };
}
