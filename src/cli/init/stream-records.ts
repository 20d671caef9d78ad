import { counted } from '../../lib/text/amounts.ts';
import { type Columns, columnsOf } from './columns.ts';
import type { FoundRecords, FoundStream } from './found-file.ts';
import { keyColumnsOf } from './key-columns.ts';
import { partColumns, productOfBomItems, proposeMapping } from './propose-mapping.ts';
import type { ProposedLine } from './proposed-line.ts';

/** What the records of a table or a list become. */
export function streamRecords(stream: FoundStream, name: string): FoundRecords {
  const { isWhole } = stream.sample;
  const { found, when } = billLines(stream);
  const { columns, repeats } = found;
  const key = keyColumnsOf(columns, { repeats, isWhole, owner: productOfBomItems(columns, name) });
  const mapping = proposeMapping(columns, key, name);
  const records = { stream, name, found, isWhole, hasKey: false, key };
  if (key === null && !mapping.key.isTodo) {
    const keyless =
      'the key of the mapping identifies the rows, since only columns of the row itself can be the key here';
    return { ...records, stream: { ...stream, keyless }, mapping };
  }
  if (when === null || mapping.to !== 'bom_item') return { ...records, mapping };
  const keyless = 'the key of the mapping identifies the rows, and some rows are no items and have none';
  return { ...records, stream: { ...stream, keyless }, mapping: { ...mapping, when } };
}

/** The rows of a bill that have a part. A row without a part and without a quantity is empty, or is the head of the rows below it. */
function billLines({ found, sample }: FoundStream): { found: Columns; when: ProposedLine | null } {
  const { component, quantity } = partColumns(found.columns);
  if (component === null || quantity === null) return { found, when: null };
  const { column } = component;
  const lines = new Set(column.indexes);
  if (lines.size === sample.rows.length || quantity.column.indexes.some((index) => !lines.has(index)))
    return { found, when: null };
  const left = counted(sample.rows.length - lines.size, 'row has', 'rows have');
  const reason = `${left} neither ${column.label} nor ${quantity.column.label}`;
  const when = { name: 'when', expression: `${column.access} != ""`, reason, isTodo: false };
  return { found: columnsOf(sample.rows.filter((_, at) => lines.has(at))), when };
}
