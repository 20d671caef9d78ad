import { defineFileConnector } from '../../src/sdk/index.ts';
import { readColumnNames, readFixedWidth } from './read.ts';
import { layoutOf, OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** Text files with columns at fixed positions, which SAP and older systems write. */
export const fixedWidth = defineFileConnector({
  id: 'fixed-width',
  title: 'Text in columns of fixed width (SAP flat files)',
  endings: ['.txt', '.dat'],
  fixedColumns: true,
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, { options, stream, ...request }) =>
    readFixedWidth(file, { layout: layoutOf(options, stream), ...request }),
  columns: (file, { options, stream, ...request }) =>
    readColumnNames(file, { layout: layoutOf(options, stream), ...request }),
});
