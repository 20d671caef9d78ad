import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { SaxesParser } from 'saxes';
import { xml } from '../../../connectors/xml/index.ts';
import type { Format } from './formats.ts';

/** XML with attributes. The connector reads the attributes as well. */
export const markup: Format = {
  name: 'XML',
  bareName: 'saxes',
  connector: xml,
  stream: { at: '/EXPORT/ITEM' },
  write(file: string, count: number): void {
    const handle = openSync(file, 'w');
    let piece = '<?xml version="1.0" encoding="UTF-8"?>\n<EXPORT>\n';
    for (let index = 0; index < count; index++) {
      piece += itemText(index);
      if (piece.length < 1_000_000) continue;
      writeSync(handle, piece);
      piece = '';
    }
    writeSync(handle, `${piece}</EXPORT>\n`);
    closeSync(handle);
  },
  async bare(file: string): Promise<number> {
    const parser = new SaxesParser({ position: false });
    let records = 0;
    let record: Record<string, string> = {};
    let text = '';
    parser.on('opentag', ({ name, attributes }) => {
      if (name === 'ITEM') record = {};
      for (const [attribute, value] of Object.entries(attributes)) record[`${name}@${attribute}`] = value;
      text = '';
    });
    parser.on('text', (piece) => {
      text += piece;
    });
    parser.on('closetag', ({ name }) => {
      if (name !== 'ITEM') record[name] = text;
      else if (record['SKU'] !== '') records++;
    });
    const decoder = new TextDecoder();
    const chunks = createReadStream(file, { highWaterMark: 256 * 1024 }) as AsyncIterable<Buffer>;
    for await (const chunk of chunks) parser.write(decoder.decode(chunk, { stream: true }));
    parser.close();
    return records;
  },
};

function itemText(index: number): string {
  const number = String(index).padStart(12, '0');
  return `  <ITEM mode="new">
    <SKU>${number.padStart(18, '0')}</SKU>
    <NAME>Seal ring ${index % 997} mm, grade ${index % 7}</NAME>
    <GTIN>04${number}</GTIN>
    <WEIGHT unit="KGM">${index % 1000}.${index % 10}</WEIGHT>
    <COUNTRY>DE</COUNTRY>
    <GROUP>GROUP-${index % 50}</GROUP>
    <CHANGED>20240301</CHANGED>
  </ITEM>
`;
}
