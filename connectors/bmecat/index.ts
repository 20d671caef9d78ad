import { defineFileConnector } from '../../src/sdk/index.ts';
import { readCatalog } from './read.ts';
import { OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** Product catalogues in BMEcat 1.01, 1.2 and 2005. */
export const bmecat = defineFileConnector({
  id: 'bmecat',
  title: 'BMEcat catalogues (1.01, 1.2, 2005)',
  endings: ['.xml'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: readCatalog,
});
