import { columnsOf } from '../../../src/cli/init/columns.ts';
import { keyColumnsOf } from '../../../src/cli/init/key-columns.ts';
import { productOfBomItems, proposeMapping } from '../../../src/cli/init/propose-mapping.ts';
import { sourcesText } from '../../../src/cli/init/write-config.ts';
import type { JsonObject } from '../../../src/lib/json.ts';

/** Makes records from their numbers. */
export const rowsOf = (count: number, row: (at: number) => JsonObject) =>
  Array.from({ length: count }, (_, at) => row(at));

/** The proposal of `init` for these records. */
export function proposed(rows: JsonObject[], name = 'export.csv') {
  const { columns, repeats } = columnsOf(rows);
  const key = keyColumnsOf(columns, { repeats, isWhole: true, owner: productOfBomItems(columns, name) });
  const mapping = proposeMapping(columns, key, name);
  const line = (wanted: string) =>
    [mapping.key, ...mapping.refs, ...mapping.fields].find((one) => one.name === wanted) ?? null;
  return { mapping, key, line };
}

/** The `sources` section for a file with these records. */
export function textOf(rows: JsonObject[]): string {
  return sourcesText(partsOf(rows));
}

export function partsOf(rows: JsonObject[]) {
  const { mapping, key } = proposed(rows);
  const recognised = { connector: 'csv', title: 'CSV', options: [], stream: [], hints: [] };
  const stream = { stream: 's', options: [], key, columns: columnsOf(rows), mappings: [mapping] };
  return { source: 'erp', path: './x.csv', recognised, lookups: [], streams: [stream] };
}
