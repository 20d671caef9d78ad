import { closeSync, createReadStream, openSync, writeFileSync, writeSync } from 'node:fs';
import { parse } from 'csv-parse';
import { SaxesParser } from 'saxes';
import { openPromise } from 'yauzl';
import { csv } from '../../../connectors/csv/index.ts';
import { fixedWidth } from '../../../connectors/fixed-width/index.ts';
import { xlsx } from '../../../connectors/xlsx/index.ts';
import type { Connector } from '../../../src/sdk/index.ts';
import { workbook } from '../../support/connectors/workbook.ts';
import { markup } from './markup.ts';

/** A format that is measured. To measure another format, add it to `all-formats.ts`. */
export interface Format {
  name: string;
  /** The name of the bare parser in the table. */
  bareName: string;
  connector: Connector;
  /** The options of the source besides the address of a server. */
  options?: object;
  /** The options of the stream besides the path and the key. */
  stream: object;
  write(file: string, count: number): void;
  /** Starts a server that answers with the content of the file, for a format that is no file. */
  serve?(file: string): Promise<{ base: string; close: () => void }>;
  /** Reads a file, or all pages of the server, with the parser alone, and counts its records. */
  bare(file: string, base: string): Promise<number>;
}

export const NAMES = ['SKU', 'NAME', 'GTIN', 'WEIGHT', 'UNIT', 'COUNTRY', 'GROUP', 'CHANGED'] as const;
/** The width of each column, for the format of fixed width. */
const WIDTHS = [18, 30, 14, 10, 3, 2, 12, 8];

export function cellsOf(index: number): string[] {
  const number = String(index).padStart(12, '0');
  return [
    number.padStart(18, '0'),
    `Seal ring ${index % 997} mm, grade ${index % 7}`,
    `04${number}`,
    `${index % 1000}.${index % 10}`,
    'KGM',
    'DE',
    `GROUP-${index % 50}`,
    '20240301',
  ];
}

/** Writes a text file in pieces, because a million lines are more than one string should hold. */
export function writeLines(file: string, count: number, lineOf: (index: number) => string, head = ''): void {
  const handle = openSync(file, 'w');
  let piece = head;
  for (let index = 0; index < count; index++) {
    piece += lineOf(index);
    if (piece.length < 1_000_000) continue;
    writeSync(handle, piece);
    piece = '';
  }
  writeSync(handle, piece);
  closeSync(handle);
}

const delimited: Format = {
  name: 'CSV',
  bareName: 'csv-parse',
  connector: csv,
  stream: {},
  write: (file, count) =>
    writeLines(
      file,
      count,
      (index) => `"${cellsOf(index).join('","')}"\n`.replaceAll(/"([^",]*)"/g, '$1'),
      `${NAMES.join()}\n`,
    ),
  async bare(file) {
    let records = 0;
    for await (const record of createReadStream(file).pipe(parse({ columns: true }))) if (record !== null) records++;
    return records;
  },
};

const fixed: Format = {
  name: 'fixed width',
  bareName: 'split and slice',
  connector: fixedWidth,
  stream: {
    columns: NAMES.map((name, index) => ({
      name,
      from: 1 + WIDTHS.slice(0, index).reduce((sum, width) => sum + width, 0),
      length: WIDTHS[index],
    })),
  },
  write: (file, count) =>
    writeLines(
      file,
      count,
      (index) =>
        `${cellsOf(index)
          .map((cell, at) => cell.padEnd(WIDTHS[at] ?? 0))
          .join('')}\n`,
    ),
  async bare(file) {
    let records = 0;
    let rest = '';
    for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const record: Record<string, string> = {};
        let from = 0;
        for (const [index, name] of NAMES.entries()) {
          const to = from + (WIDTHS[index] ?? 0);
          record[name] = line.slice(from, to).trim();
          from = to;
        }
        if (record['SKU'] !== '') records++;
      }
    }
    return records;
  },
};

const spreadsheet: Format = {
  name: 'XLSX',
  bareName: 'yauzl and saxes',
  connector: xlsx,
  stream: {},
  write(file, count) {
    const strings: string[] = [...NAMES];
    const rows: string[] = [];
    const row = (number: number, cells: string) => rows.push(`<row r="${number}">${cells}</row>`);
    row(1, NAMES.map((_name, column) => `<c r="${'ABCDEFGH'[column]}1" t="s"><v>${column}</v></c>`).join(''));
    for (let index = 0; index < count; index++) {
      const cells = cellsOf(index).map((cell, column) => {
        const reference = `${'ABCDEFGH'[column]}${index + 2}`;
        if (column === 3) return `<c r="${reference}"><v>${cell}</v></c>`;
        strings.push(cell);
        return `<c r="${reference}" t="s"><v>${strings.length - 1}</v></c>`;
      });
      row(index + 2, cells.join(''));
    }
    writeFileSync(file, workbook({ sheet: rows.join(''), strings: strings.map((text) => `<t>${text}</t>`) }));
  },
  bare: async (file) => {
    const strings: string[] = [];
    await eachTag(file, 'xl/sharedStrings.xml', (name, text) => {
      if (name === 't') strings.push(text);
    });
    let records = 0;
    let cells: string[] = [];
    await eachTag(file, 'xl/worksheets/sheet1.xml', (name, text) => {
      if (name === 'v') cells.push(strings[Number(text)] ?? text);
      if (name !== 'row') return;
      if (cells.length > 0) records++;
      cells = [];
    });
    return records - 1;
  },
};

/** Calls back with the name and the text of each element of a part. */
async function eachTag(file: string, part: string, onClose: (name: string, text: string) => void): Promise<void> {
  const zip = await openPromise(file);
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName !== part) continue;
    const parser = new SaxesParser({ position: false, xmlns: false });
    let text = '';
    parser.on('opentag', () => {
      text = '';
    });
    parser.on('text', (piece) => {
      text = piece;
    });
    parser.on('closetag', ({ name }) => onClose(name, text));
    const decoder = new TextDecoder();
    const stream = await zip.openReadStreamPromise(entry);
    for await (const chunk of stream as AsyncIterable<Buffer>) parser.write(decoder.decode(chunk, { stream: true }));
    parser.close();
    return;
  }
}

export const FILE_FORMATS: readonly Format[] = [delimited, spreadsheet, markup, fixed];
