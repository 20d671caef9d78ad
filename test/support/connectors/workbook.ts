import { crc32, deflateRawSync } from 'node:zlib';
import { xlsx } from '../../../connectors/xlsx/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { readRows, temporaryFolder } from './connector-reader.ts';

/** A part of an archive. `size` and `crc` replace the true values in the archive's directory. */
export interface ZipPart {
  name: string;
  data: Buffer;
  /** Compressed data. */
  deflated?: Buffer;
  size?: number;
  crc?: number;
}

/** Writes a .zip file. */
export function zip(parts: readonly ZipPart[]): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, data, deflated = deflateRawSync(data), size = data.length, crc = crc32(data) } of parts) {
    const bytes = Buffer.from(name, 'utf8');
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(0x0800, 2);
    shared.writeUInt16LE(8, 4);
    shared.writeUInt32LE(crc, 10);
    shared.writeUInt32LE(deflated.length, 14);
    shared.writeUInt32LE(size, 18);
    shared.writeUInt16LE(bytes.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), shared, bytes, deflated]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), shared, rest, bytes]));
    pieces.push(local);
    offset += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...pieces, entries, end]);
}

export interface WorkbookParts {
  /** The content of `sheetData`. If it begins with `<` and contains `sheetData`, it is the whole sheet. */
  sheet?: string;
  /** The XML before the rows. */
  before?: string;
  behind?: string;
  /** The shared texts, each as the content of an `si` element. */
  strings?: readonly string[];
  /** Codes of number formats; the cell style 1 has the first one. */
  formats?: readonly string[];
  /** Ids of number formats that the file does not define. They follow the formats of `formats`. */
  formatIds?: readonly number[];
  /** Attributes of `workbookPr`. */
  properties?: string;
  /** Names of the sheets with their attributes; the cells are in the last one. */
  sheets?: readonly { name: string; state?: string }[];
  strict?: boolean;
  /** Parts that are added to the workbook, or replace a part of it. */
  parts?: readonly ZipPart[];
}

const part = (name: string, text: string): ZipPart => ({ name, data: Buffer.from(text) });
const escapeXml = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');

/** Writes a workbook with one sheet. */
export function workbook({
  sheet = '',
  before = '',
  behind = '',
  strings = [],
  formats = [],
  formatIds = [],
  properties = '',
  sheets = [{ name: 'Sheet1' }],
  strict = false,
  parts = [],
}: WorkbookParts): Buffer {
  const main = strict
    ? 'http://purl.oclc.org/ooxml/spreadsheetml/main'
    : 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const relations = strict
    ? 'http://purl.oclc.org/ooxml/officeDocument/relationships'
    : 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const relation = (id: string, kind: string, target: string) =>
    `<Relationship Id="${id}" Type="${relations}/${kind}" Target="${target}"/>`;
  const relationships = (body: string) =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${body}</Relationships>`;
  const ids = [...formats.map((_format, index) => 164 + index), ...formatIds];
  const worksheet = (rows: string, head = '', tail = '') =>
    `<?xml version="1.0"?><worksheet xmlns="${main}">${head}<sheetData>${rows}</sheetData>${tail}</worksheet>`;
  const replaced = new Set(parts.map(({ name }) => name));
  const own = [
    part('[Content_Types].xml', '<Types/>'),
    part('_rels/.rels', relationships(relation('rId1', 'officeDocument', 'xl/workbook.xml'))),
    part(
      'xl/_rels/workbook.xml.rels',
      relationships(
        [
          ...sheets.map((_sheet, index) =>
            relation(`rId${index + 1}`, 'worksheet', `worksheets/sheet${index + 1}.xml`),
          ),
          relation('rId900', 'styles', '/xl/styles.xml'),
          relation('rId901', 'sharedStrings', 'sharedStrings.xml'),
        ].join(''),
      ),
    ),
    part(
      'xl/workbook.xml',
      `<workbook xmlns="${main}" xmlns:r="${relations}"><workbookPr ${properties}/><sheets>${sheets
        .map(({ name, state }, index) => {
          const attributes = state === undefined ? '' : ` state="${state}"`;
          return `<sheet name="${escapeXml(name)}" sheetId="${index + 1}"${attributes} r:id="rId${index + 1}"/>`;
        })
        .join('')}</sheets></workbook>`,
    ),
    part(
      'xl/styles.xml',
      `<styleSheet xmlns="${main}"><numFmts>${formats
        .map((code, index) => `<numFmt numFmtId="${164 + index}" formatCode="${escapeXml(code)}"/>`)
        .join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${ids
        .map((id) => `<xf numFmtId="${id}"/>`)
        .join('')}</cellXfs></styleSheet>`,
    ),
    part('xl/sharedStrings.xml', `<sst xmlns="${main}">${strings.map((text) => `<si>${text}</si>`).join('')}</sst>`),
    ...sheets.map((_sheet, index) =>
      part(
        `xl/worksheets/sheet${index + 1}.xml`,
        index === sheets.length - 1 ? worksheet(sheet, before, behind) : worksheet(''),
      ),
    ),
  ];
  return zip([...own.filter(({ name }) => !replaced.has(name)), ...parts]);
}

/** A cell that contains its text, not a reference to a shared text. */
export function textCell(reference: string, text: string): string {
  return `<c r="${reference}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`;
}

/** A row of cells with text, from column A. */
export function textRow(number: number, ...texts: string[]): string {
  const cells = texts.map((text, column) => textCell(`${String.fromCharCode(65 + column)}${number}`, text));
  return `<row r="${number}">${cells.join('')}</row>`;
}

/** Reads the rows of a workbook. */
export async function readWorkbook(parts: WorkbookParts, stream: object = {}): Promise<SourceRow[]> {
  await using folder = await temporaryFolder({ 'in.xlsx': workbook(parts) });
  return await readRows(xlsx, { folder: folder.path, stream: { path: 'in.xlsx', ...stream } });
}
