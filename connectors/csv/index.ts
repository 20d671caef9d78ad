import { defineFileConnector } from '../../src/sdk/index.ts';
import { readColumnNames, readCsv } from './read.ts';
import { dialectOf, OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** Delimited text files: CSV, TSV and the flat files of older systems. */
export const csv = defineFileConnector({
  id: 'csv',
  title: 'Delimited text files (CSV, TSV)',
  fixedColumns: true,
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, { options, stream, signal }) => readCsv(file, { dialect: dialectOf(options, stream), signal }),
  columns: (file, { options, stream, signal }) =>
    readColumnNames(file, { dialect: dialectOf(options, stream), signal }),
});
