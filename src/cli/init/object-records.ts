// What JSON files of one object each become: the objects, the lines that they list, and the parts that no file has.

import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { memberAccess, memberPresence } from '../../pipeline/mapping/expressions/name-access.ts';
import { type Column, type Columns, columnsOf } from './columns.ts';
import type { Divided, FoundLookup, FoundRecords, FoundStream } from './found-file.ts';
import { type FoundKey, keyColumnsOf } from './key-columns.ts';
import { partColumns, proposeArticle, proposeBomItem } from './propose-mapping.ts';
import { type Choice, choose, chosen, type ProposedMapping } from './proposed-line.ts';
import { streamRecords } from './stream-records.ts';
import { articlesOf, nameByKey } from './tree-articles.ts';
import { asText } from './value-checks.ts';

/** A list of parts in each object. */
export interface PartList {
  /** The way to the list in the object. */
  path: readonly string[];
  stream: FoundStream;
  line: LineColumns;
}

/** Files of one object each, with the lists of parts in them. */
export interface ObjectFiles {
  name: string;
  root: FoundStream;
  /** The column that is the key of an object. */
  naming: Column;
  lists: readonly PartList[];
}

/** The columns of a line: the object around it, its part and its quantity. */
interface LineColumns {
  product: Column;
  part: Column;
  quantity: Choice;
}

/** Articles of which this share is in other files are made by those files. */
const KNOWN_SHARE_MIN = 0.5;
const TABLE = 'objects';

/** @param known the keys of the articles in other files */
export function objectRecords(files: ObjectFiles, known: ReadonlySet<string>): Divided {
  const { name, root, naming, lists } = files;
  const areMade = areUnknown(naming.values, known);
  const records: FoundRecords[] = areMade ? objectsOf(files) : [];
  const objects = new Set(areMade ? naming.values : []);
  for (const list of lists) records.push(...partsOf(list, { name, objects, known }), lineRecords(list, name));
  const usesTable = records.some(({ mapping }) => mapping.when?.expression?.includes(`"${TABLE}"`) === true);
  const reason = 'the objects, of which a part may be one';
  const lookup: FoundLookup = { name: TABLE, stream: root.name, key: naming.label, value: naming.label, reason };
  return {
    streams: [...(areMade ? [root] : []), ...lists.map(({ stream }) => stream)],
    records,
    lookups: usesTable ? [lookup] : [],
  };
}

function areUnknown(keys: readonly string[], known: ReadonlySet<string>): boolean {
  return keys.filter((key) => known.has(key)).length < keys.length * KNOWN_SHARE_MIN;
}

/** The objects as products. Those that only are parts of others, and have no parts, are materials. */
function objectsOf({ name, root, naming, lists }: ObjectFiles): FoundRecords[] {
  const found = streamRecords(root, name);
  if (lists.length === 0) return [withNames(found, found.mapping, naming)];
  const parts = new Set(lists.flatMap(({ line }) => line.part.values));
  const { rows } = root.sample;
  const leaves = rows.filter((row) => lists.every(({ path }) => isEmptyList(valueAt(row, path))));
  const keyOf = new Map(naming.indexes.map((index, at) => [rows[index], naming.values[at] ?? '']));
  const areParts = leaves.length > 0 && leaves.every((row) => parts.has(keyOf.get(row) ?? ''));
  // A folder of bills may be called so. Its objects are the products, and the lists in them are the bills.
  const reason = 'objects that have a list of parts';
  if (!areParts)
    return [withNames(found, { ...proposeArticle(root.found.columns, found.key, 'product'), reason }, naming)];
  const hasParts = lists.map(({ path }) => isFilledList(path, rows)).join(' || ');
  const kinds = [
    { to: 'product', when: hasParts, of: rows.filter((row) => !leaves.includes(row)), reason, isTodo: false },
    {
      to: 'material',
      when: `!(${hasParts})`,
      of: leaves,
      reason: 'objects without parts, which are parts of others; if they are products, write product, and sku for code',
      isTodo: true,
    },
  ] as const;
  return kinds.map(({ to, when, of, ...why }) => {
    const own = columnsOf(of);
    const condition = { name: 'when', expression: when, reason: '', isTodo: false };
    const mapping = { ...proposeArticle(own.columns, found.key, to), ...why, when: condition };
    return { ...withNames(found, mapping, naming), found: own, key: keyAmong(found.key, own), isCertain: true };
  });
}

function withNames(found: FoundRecords, mapping: ProposedMapping, naming: Column): FoundRecords {
  const fields = mapping.fields.map((line) =>
    line.name === 'name' && line.expression === null ? nameByKey(line, naming) : line,
  );
  return { ...found, mapping: { ...mapping, fields } };
}

/** The key with the values of some of its records. */
function keyAmong(key: FoundKey | null, { columns }: Columns): FoundKey | null {
  const own = key?.columns.flatMap(({ label }) => columns.find((column) => column.label === label) ?? []);
  return key === null || own === undefined ? null : { ...key, columns: own };
}

function valueAt(row: JsonObject, path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((value, name) => (isJsonObject(value) ? value[name] : undefined), row);
}

function isEmptyList(value: JsonValue | undefined): boolean {
  return !Array.isArray(value) || value.length === 0;
}

/** The condition under which an object has entries in the list, which an object may lack. */
function isFilledList(path: readonly string[], rows: readonly JsonObject[]): string {
  const access = (steps: readonly string[]): string => steps.reduce((owner, name) => memberAccess(owner, name), 'row');
  const values = rows.map((row) => valueAt(row, path));
  const steps = path.map((_, at) => path.slice(0, at + 1));
  const present = values.includes(undefined)
    ? steps.map((step) => memberPresence(access(step.slice(0, -1)), step.at(-1) ?? ''))
    : [];
  const conditions = [
    ...present,
    ...(values.includes(null) ? [`${access(path)} != null`] : []),
    `size(${access(path)}) > 0`,
  ];
  return conditions.length === 1 ? (conditions[0] ?? '') : `(${conditions.join(' && ')})`;
}

/** The parts that are no objects, as materials; none if other files have them. */
function partsOf(
  { stream, line: { product, part } }: PartList,
  { name, objects, known }: { name: string; objects: ReadonlySet<string>; known: ReadonlySet<string> },
): FoundRecords[] {
  const others = new Set(part.indexes.filter((_, at) => !objects.has(part.values[at] ?? '')));
  if (
    !areUnknown(
      part.values.filter((value) => !objects.has(value)),
      known,
    )
  )
    return [];
  const isAmong = others.size < part.values.length;
  const found = columnsOf(stream.sample.rows.filter((_, at) => others.has(at)));
  const reason = 'parts that are no object of their own; if they are products, write product, and sku for code';
  const when = isAmong ? `lookup("${TABLE}", ${part.access}, "") == ""` : '';
  const group = { to: 'material', rows: [], naming: part.label, isAround: false, reason, isTodo: true, when } as const;
  const made = articlesOf(group, found.columns, [product.label]);
  return [{ name, stream, isWhole: stream.sample.isWhole, hasKey: false, found, isCertain: true, ...made }];
}

function lineRecords({ stream, line: { product, part, quantity } }: PartList, name: string): FoundRecords {
  const { found, key = null } = stream;
  const reason = `lines of a list, each with ${part.label} and ${quantity.column.label}`;
  const columns = { product: chosen(product), component: chosen(part), quantity, reason };
  const mapping = proposeBomItem(found.columns, key, columns);
  return { name, stream, isWhole: stream.sample.isWhole, hasKey: false, found, key, mapping };
}

/**
 * The list of parts that a stream has; null if its records are something else, such as documents.
 *
 * @param parent the name of the column with the key of the object around each record
 */
export function partList(
  stream: FoundStream,
  { parent, path }: { parent: string; path: readonly string[] },
): PartList | null {
  const { columns, repeats } = stream.found;
  const product = columns.find(({ label }) => label === parent);
  const own = columns.filter((column) => column !== product);
  const { component, quantity } = partColumns(own);
  const numbered = (['sku', 'id'] as const).map((concept) => choose(own, concept, { check: asText }));
  const part = component ?? numbered.find((choice) => choice?.isExact === true) ?? null;
  if (product === undefined || part === null || quantity === null) return null;
  const key = keyColumnsOf(columns, { repeats, isWhole: stream.sample.isWhole, owner: product });
  return { path, stream: { ...stream, key }, line: { product, part: part.column, quantity } };
}
