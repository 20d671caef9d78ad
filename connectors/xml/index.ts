import {
  defineFileConnector,
  type FileRequest,
  readXmlPages,
  readXmlRecords,
  type XmlRecordOptions,
} from '../../src/sdk/index.ts';
import { OPTIONS, type Options, STREAM_OPTIONS, type StreamOptions } from './schema.ts';

/** XML documents in which certain elements are the records. */
export const xml = defineFileConnector({
  id: 'xml',
  title: 'XML files',
  endings: ['.xml'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, request) => readXmlPages(file, recordOptions(request), request.signal),
  async columns(file, request) {
    for await (const records of readXmlRecords(file, recordOptions(request), request.signal)) {
      return [...new Set(records.flatMap((record) => Object.keys(record.fields)))];
    }
    return [];
  },
});

function recordOptions({ options, stream, onNoRecords }: FileRequest<Options, StreamOptions>): XmlRecordOptions {
  const { at, lists, objects, parent } = stream;
  return {
    ...options,
    at,
    lists,
    objects,
    ...(parent === undefined ? {} : { parent }),
    onNoRecords: (message) => onNoRecords(`${message} If there should be records, correct \`at\`.`),
  };
}
