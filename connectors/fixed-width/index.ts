import { defineFileConnector } from '../../src/sdk/index.ts';
import { readColumnNames, readFixedWidth } from './read.ts';
import { layoutOf, OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** Text files with columns at fixed positions, which SAP and older systems write. */
export const fixedWidth = defineFileConnector({
  id: 'fixed-width',
  title: 'Text in columns of fixed width (SAP flat files)',
  fixedColumns: true,
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, { options, stream, signal }) => readFixedWidth(file, { layout: layoutOf(options, stream), signal }),
  columns: (file, { options, stream, signal }) => readColumnNames(file, { layout: layoutOf(options, stream), signal }),
});
