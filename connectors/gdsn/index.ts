import { defineFileConnector } from '../../src/sdk/index.ts';
import { readMessage } from './read.ts';
import { OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** Trade items of GS1's Global Data Synchronisation Network: catalogue item notifications. */
export const gdsn = defineFileConnector({
  id: 'gdsn',
  title: 'GS1 GDSN catalogue item notifications (XML)',
  endings: ['.xml'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: readMessage,
});
