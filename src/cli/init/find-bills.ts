// Files that are taken for lists of articles by their columns, although their values show that they are bills of materials.

import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Column } from './columns.ts';
import { rankOf } from './field-names.ts';
import type { JoinableFile } from './joinable-file.ts';
import { keyColumnsOf } from './key-columns.ts';
import { hasNames, partColumns, proposeBomItem } from './propose-mapping.ts';
import { type Choice, chosen } from './proposed-line.ts';

/** At least this share of the values of a column has to be keys of another file. Fewer prove nothing. */
const SHARE_MIN = 0.5;

/**
 * The file as a bill of materials, if its records name a part, a quantity and the key of a record of another file. In a bill whose
 * products have one part each, no value repeats, so its columns alone look like those of articles.
 *
 * @param files all files
 * @returns the file as it is if it is a bill already, or if its values show nothing
 */
export function asBill<File extends JoinableFile>(file: File, files: readonly File[]): File {
  const { columns, repeats } = file.found;
  const { component, quantity } = partColumns(columns);
  if (file.isCertain === true || file.mapping.to === 'bom_item' || component === null || quantity === null) return file;
  const others = files.filter((other) => other !== file);
  const met = columns
    .filter((column) => column !== quantity.column && column.values.length >= column.records * SHARE_MIN)
    .flatMap((column) => meetingOf(column, others) ?? []);
  const isMet = met.some(({ column }) => column === component.column);
  // A list of articles may have a column with a material and a stock. Its materials are in no other file.
  if (hasNames(columns) && !isMet) return file;
  const [best] = met
    .filter(({ column }) => column !== component.column)
    .toSorted((one, other) => rankAsProduct(one.column) - rankAsProduct(other.column) || other.share - one.share);
  if (best === undefined) return file;
  const { column, meets, found } = best;
  const values = counted(column.values.length, 'value', 'values');
  const reason = `records name a part (${component.column.label}) and a quantity (${quantity.column.label}), and ${formatCount(found)} of ${values} of ${column.label} are keys of ${meets}`;
  const key = file.hasKey ? file.key : keyColumnsOf(columns, { repeats, isWhole: file.isWhole, owner: column });
  const product: Choice = chosen(column);
  return { ...file, key, mapping: proposeBomItem(columns, key, { product, component, quantity, reason }) };
}

interface Met {
  column: Column;
  /** The name of the file with the most of the values. */
  meets: string;
  found: number;
  share: number;
}

/** The file whose keys most values of the column are; null if no file has enough of them. */
function meetingOf(column: Column, files: readonly JoinableFile[]): Met | null {
  const { values } = column;
  const met = files.flatMap(({ name, key }): Met[] => {
    const [keyColumn, ...more] = key?.columns ?? [];
    if (keyColumn === undefined || more.length > 0) return [];
    const keys = new Set(keyColumn.values);
    const found = values.filter((value) => keys.has(value)).length;
    return [{ column, meets: name, found, share: found / values.length }];
  });
  const [best] = met.toSorted((one, other) => other.found - one.found);
  return best !== undefined && best.share >= SHARE_MIN ? best : null;
}

/** A column whose name is that of a product or an article goes before the others. */
function rankAsProduct({ label }: Column): number {
  const ranks = [rankOf(label, 'product'), rankOf(label, 'article')].filter((rank) => rank !== null);
  return Math.min(...ranks, Number.MAX_SAFE_INTEGER);
}
