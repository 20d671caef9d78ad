// What JSON files of one object each become: the objects, the lines that they list, and the parts that no file has.

import { type Column, columnsOf } from './columns.ts';
import type { Divided, FoundLookup, FoundRecords, FoundStream } from './found-file.ts';
import { keyColumnsOf } from './key-columns.ts';
import { partColumns, proposeArticle, proposeBomItem } from './propose-mapping.ts';
import { type Choice, choose, chosen } from './proposed-line.ts';
import { streamRecords } from './stream-records.ts';
import { articlesOf, nameByKey } from './tree-articles.ts';
import { asText } from './value-checks.ts';

/** A list of parts in each object. */
export interface PartList {
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
  const records: FoundRecords[] = areMade ? [objectsOf(files)] : [];
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

function objectsOf({ name, root, naming, lists }: ObjectFiles): FoundRecords {
  const found = streamRecords(root, name);
  // A folder of bills may be called so. Its objects are the products, and the lists in them are the bills.
  const reason = 'objects that have a list of parts';
  const mapping =
    lists.length === 0 ? found.mapping : { ...proposeArticle(root.found.columns, found.key, 'product'), reason };
  const fields = mapping.fields.map((line) =>
    line.name === 'name' && line.expression === null ? nameByKey(line, naming) : line,
  );
  return { ...found, mapping: { ...mapping, fields } };
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
export function partList(stream: FoundStream, parent: string): PartList | null {
  const { columns, repeats } = stream.found;
  const product = columns.find(({ label }) => label === parent);
  const own = columns.filter((column) => column !== product);
  const { component, quantity } = partColumns(own);
  const numbered = (['sku', 'id'] as const).map((concept) => choose(own, concept, { check: asText }));
  const part = component ?? numbered.find((choice) => choice?.isExact === true) ?? null;
  if (product === undefined || part === null || quantity === null) return null;
  const key = keyColumnsOf(columns, { repeats, isWhole: stream.sample.isWhole, owner: product });
  return { stream: { ...stream, key }, line: { product, part: part.column, quantity } };
}
