// Files that are no bills, and name records of other files, such as stocks, prices and orders. Nothing uses them yet.

import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Column } from './columns.ts';
import { isNamed } from './field-names.ts';
import type { JoinableFile } from './found-file.ts';
import { meantFile, namesNoFile } from './meant-file.ts';
import { type Article, type Meeting, meetingOf, namesOf } from './meetings.ts';
import { hasNames } from './propose-mapping.ts';
import type { ProposedMapping } from './proposed-line.ts';

/** At least this share of the values of a column has to be keys of another file. Fewer prove nothing. */
const SHARE_MIN = 0.5;

/** The columns of a file that have keys of other files. */
export function relationsOf(file: JoinableFile, articles: readonly Article[]): Meeting[] {
  if (file.isCertain === true) return [];
  const { columns } = file.found;
  const others = articles.filter((one) => one.file !== file);
  const [own, ...more] = file.key?.columns ?? [];
  return columns.filter(mayName).flatMap((column) => {
    const isKey = column === own && more.length === 0;
    const all = isKey ? others.filter((other) => isAbout(column, other, columns)) : others;
    // Lists with names have the records themselves.
    const withNames = all.filter(({ file: { found } }) => hasNames(found.columns));
    return [withNames, all].map((among) => meetingOf(column, among)).find(isMet) ?? [];
  });
}

function isMet({ column, found }: Meeting): boolean {
  return found >= Math.max(1, column.values.length * SHARE_MIN);
}

/** Amounts, positions and own numbers are keys of other files by chance. So is a value that all records have. */
function mayName({ label, values }: Column): boolean {
  return !namesNoFile(label) && !isNamed(label, 'quantity') && !isNamed(label, 'position') && new Set(values).size > 1;
}

/** Two lists may have equal numbers by chance. With equal names of their keys, the one without names is about the other one. */
function isAbout(key: Column, { file, key: other }: Article, columns: readonly Column[]): boolean {
  const candidate = { name: '', key: other.label };
  return !hasNames(columns) && hasNames(file.found.columns) && meantFile(key.label, [candidate]) !== null;
}

/** The mapping with the doubt whether the records are articles: without names they may only be about those of another file. */
export function withRelations(
  mapping: ProposedMapping,
  { found: { columns } }: JoinableFile,
  [first]: readonly Meeting[],
): ProposedMapping {
  if (first === undefined || hasNames(columns)) return mapping;
  const { column, articles, found } = first;
  const values = counted(column.values.length, 'value', 'values');
  const where = namesOf(articles).join(' and ');
  const reason = `${formatCount(found)} of ${values} of ${column.label} are keys of ${where}, so these records may be no ${mapping.to}s of their own, but be about those. Then delete this mapping; as a stream of the same source, a lookup table (docs/mapping-reference.md#lookups) gives their values to the mapping of the others`;
  return { ...mapping, reason, isTodo: true };
}
