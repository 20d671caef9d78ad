import {
  type FileRequest,
  type OpenFile,
  type Page,
  readXmlPages,
  type SourceRow,
  type XmlRecord,
  xmlObjectOf,
  xmlObjectsOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';
import type { Options, StreamOptions } from './schema.ts';
import { childrenOf, itemRow, tradeItemsOf } from './trade-item.ts';

/** Reads the rows of one message. */
export function readMessage(
  file: OpenFile,
  { options, stream, signal }: FileRequest<Options, StreamOptions>,
): AsyncGenerator<Page> {
  const { encoding, entities, maxRecordBytes, language } = options;

  const rowsOf = function* ({ fields, place, issues }: XmlRecord): Generator<SourceRow> {
    if (issues !== undefined) {
      yield { fields, place, issues };
      return;
    }
    const command = xmlTextOf(xmlObjectOf(fields['documentCommandHeader'])['@type']);
    for (const notification of xmlObjectsOf(fields['catalogueItemNotification'])) {
      for (const catalogueItem of xmlObjectsOf(notification['catalogueItem'])) {
        for (const item of tradeItemsOf(catalogueItem)) {
          for (const row of itemRows(item, command, stream.records)) yield { fields: row, place };
        }
      }
    }
  };

  const reading = { at: '//documentCommand', trim: true, language, languageAttributes: ['languageCode'] };
  return readXmlPages(file, { ...reading, encoding, entities, maxRecordBytes }, signal, rowsOf);
}

function itemRows(
  item: Parameters<typeof itemRow>[0],
  command: string,
  records: StreamOptions['records'],
): ReturnType<typeof itemRow>[] {
  const row = itemRow(item, command);
  if (records === 'items') return [row];
  const head = { parentGtin: xmlTextOf(item['gtin']), command };
  return childrenOf(item).map((child) => ({ ...head, ...child }));
}
