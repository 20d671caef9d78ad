// Files that are taken for lists of articles by their columns, although their values show that they are bills of materials.

import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Column } from './columns.ts';
import { rankOf } from './field-names.ts';
import type { JoinableFile } from './found-file.ts';
import { keyColumnsOf } from './key-columns.ts';
import { articlesOf, type Meeting, meetingOf } from './meetings.ts';
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
  const others = articlesOf(files.filter((other) => other !== file));
  const met = columns
    .filter((column) => column !== quantity.column && column.values.length >= column.records * SHARE_MIN)
    .map((column) => meetingOf(column, others))
    .filter(({ found, column: { values } }) => found >= values.length * SHARE_MIN);
  const isMet = met.some(({ column }) => column === component.column);
  // A list of articles may have a column with a material and a stock. Its materials are in no other file.
  if (hasNames(columns) && !isMet) return file;
  const [best] = met
    .filter(({ column }) => column !== component.column)
    .toSorted(
      (one, other) =>
        rankAsProduct(one.column) - rankAsProduct(other.column) ||
        Number(other.meant !== null) - Number(one.meant !== null) ||
        shareOf(other) - shareOf(one),
    );
  if (best === undefined) return file;
  const { column, articles, found } = best;
  const meets = articles.map((article) => article.file.name).join(' and ');
  const values = counted(column.values.length, 'value', 'values');
  const reason = `records name a part (${component.column.label}) and a quantity (${quantity.column.label}), and ${formatCount(found)} of ${values} of ${column.label} are keys of ${meets}`;
  const key = file.hasKey ? file.key : keyColumnsOf(columns, { repeats, isWhole: file.isWhole, owner: column });
  const product: Choice = chosen(column);
  return { ...file, key, mapping: proposeBomItem(columns, key, { product, component, quantity, reason }) };
}

const shareOf = ({ column, found }: Meeting): number => found / column.values.length;

/** A column whose name is that of a product or an article goes before the others. */
function rankAsProduct({ label }: Column): number {
  const ranks = [rankOf(label, 'product'), rankOf(label, 'article')].filter((rank) => rank !== null);
  return Math.min(...ranks, Number.MAX_SAFE_INTEGER);
}
