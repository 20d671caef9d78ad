import { defineFileConnector } from '../../src/sdk/index.ts';
import { readIdocs } from './read.ts';
import { OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** IDocs of SAP as XML files: MATMAS, BOMMAT and others. */
export const sapIdoc = defineFileConnector({
  id: 'sap-idoc',
  title: 'SAP IDocs as XML files (MATMAS, BOMMAT)',
  endings: ['.xml'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: readIdocs,
});
