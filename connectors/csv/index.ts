import { defineFileConnector, type FileRequest } from '../../src/sdk/index.ts';
import { type CsvRequest, readColumnNames, readCsv } from './read.ts';
import { type Dialect, dialectOf, OPTIONS, STREAM_OPTIONS, type StreamOptions } from './schema.ts';

/** Delimited text files: CSV, TSV and the flat files of older systems. */
export const csv = defineFileConnector({
  id: 'csv',
  title: 'Delimited text files (CSV, TSV)',
  endings: ['.csv', '.tsv', '.txt'],
  fixedColumns: true,
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, request) => readCsv(file, requestOf(request)),
  columns: (file, request) => readColumnNames(file, requestOf(request)),
});

function requestOf(request: FileRequest<Dialect, StreamOptions>): CsvRequest {
  const { options, stream, signal, onColumns } = request;
  return { dialect: dialectOf(options, stream), decimalsOfStream: stream.decimalColumns ?? [], signal, onColumns };
}
