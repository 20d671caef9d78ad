// What the rows of a bill with levels become: its lines, and the products and materials that no other file has.

import type { JsonObject } from '../../lib/json.ts';
import { type Column, columnsOf, textAt } from './columns.ts';
import { isNamed } from './field-names.ts';
import type { Divided, FoundLookup, FoundRecords, FoundStream } from './found-file.ts';
import type { FoundTree } from './recognise-tree.ts';
import { type ArticleRows, articleRows, articlesOf, TABLE } from './tree-articles.ts';
import { linesOf, streamKey } from './tree-lines.ts';

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
