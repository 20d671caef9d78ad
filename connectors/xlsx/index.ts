import { defineFileConnector } from '../../src/sdk/index.ts';
import { readColumnNames, readXlsx } from './read.ts';
import { layoutOf, OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** Workbooks of Excel and of other spreadsheet programs. */
export const xlsx = defineFileConnector({
  id: 'xlsx',
  title: 'Spreadsheets (XLSX)',
  endings: ['.xlsx', '.xlsm'],
  fixedColumns: true,
  zipEntry: '[Content_Types].xml',
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, { options, stream, ...request }) => readXlsx(file, { layout: layoutOf(options, stream), ...request }),
  columns: (file, { options, stream, ...request }) =>
    readColumnNames(file, { layout: layoutOf(options, stream), ...request }),
});
