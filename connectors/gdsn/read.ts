import {
  type FileRequest,
  type Issue,
  type OpenFile,
  type Page,
  readXmlPages,
  type SourceRow,
  type XmlRecord,
  xmlObjectOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';
import type { Options, StreamOptions } from './schema.ts';
import { childrenOf, gtinOf, itemRow, itemsOfCommand } from './trade-item.ts';

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
    let items = 0;
    for (const item of itemsOfCommand(fields)) {
      items += 1;
      for (const row of itemRows(item, command, stream.records)) yield { fields: row, place };
    }
    if (items === 0) yield { fields: { command, ...fields }, place, issues: [NO_ITEM] };
  };

  const reading = { at: '//documentCommand', trim: true, language, languageAttributes: ['languageCode'] };
  return readXmlPages(file, { ...reading, encoding, entities, maxRecordBytes }, signal, rowsOf);
}

const NO_ITEM: Issue = {
  code: 'row.item',
  message: 'The document command has no trade item in a catalogue item notification.',
  cure: 'Set the path of the stream to messages of catalogue items only, or write the message again.',
};

function itemRows(
  item: Parameters<typeof itemRow>[0],
  command: string,
  records: StreamOptions['records'],
): ReturnType<typeof itemRow>[] {
  const row = itemRow(item, command);
  if (records === 'items') return [row];
  const head = { parentGtin: gtinOf(item), command };
  return childrenOf(item).map((child) => ({ ...head, ...child }));
}
