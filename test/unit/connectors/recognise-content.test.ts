import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csv } from '../../../connectors/csv/index.ts';
import { fixedWidth } from '../../../connectors/fixed-width/index.ts';
import { json } from '../../../connectors/json/index.ts';
import { xlsx } from '../../../connectors/xlsx/index.ts';
import { xml } from '../../../connectors/xml/index.ts';
import { type Connector, recogniseContent } from '../../../src/sdk/index.ts';
import { probe, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { textRow, workbook } from '../../support/connectors/workbook.ts';

const XML = '<?xml version="1.0"?>\n<BMECAT><T_NEW_CATALOG/></BMECAT>';
const HTML = '\n<!DOCTYPE html>\n<html><title>504 Gateway Timeout</title></html>';
const SPREADSHEET = workbook({ sheet: textRow(1, 'a') });

const WORKBOOK_AS_XML =
  '<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet><Table><Row><Cell><Data>A-1</Data></Cell></Row></Table></Worksheet></Workbook>';

async function failure(
  connector: Connector,
  content: string | Buffer,
  settings: object = {},
): Promise<{ message: string; suggestion: string }> {
  await using folder = await temporaryFolder({ in: content });
  const setup = { folder: folder.path, stream: { path: 'in', ...settings } };
  const error = await readRows(connector, setup).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: 'source.unreadable', suggestion: expect.stringMatching(/\.$/) });
  await expect(probe(connector, setup)).rejects.toMatchObject({ code: 'source.unreadable' });
  return error as { message: string; suggestion: string };
}

const WORKBOOK = 'is an XLSX workbook or another office document, which this connector does not read.';

const X12 = `ISA*00*${' '.repeat(10)}*00*${' '.repeat(10)}*ZZ*SENDER         *ZZ*RECEIVER       *260317*1115*U*00401*000000001*0*P*>~`;

describe('a file in a format that no connector reads is called what it is by each connector', () => {
  it.each<[string, string | Buffer, string, RegExp]>([
    [
      'EDIFACT',
      "UNB+UNOA:3+A:ZZ+B:ZZ+260317:1115+1'\nUNH+1+PRICAT:D:96A:UN'\nBGM+9+1+9'",
      'EDIFACT (PRICAT)',
      /CSV, JSON, XML/,
    ],
    ['EDIFACT with separators', "UNA:+.? '\r\nUNB+UNOC:3+A+B'UNH+1+ORDERS:D:01B:UN'", 'EDIFACT (ORDERS)', /CSV/],
    [
      'EDIFACT with other separators',
      'UNA\x1d\x1f.? \x1cUNB\x1fUNOA\x1d3\x1fA\x1cUNH\x1f1\x1fDESADV\x1dD',
      'EDIFACT (DESADV)',
      /CSV/,
    ],
    ['EDIFACT without a message', "UNB+UNOA:3+A:ZZ+B:ZZ+260317:1115+1'", 'EDIFACT', /CSV/],
    ['X12', `${X12}GS*SC*A*B*20260317*1115*1*X*004010~ST*832*0001~`, 'ANSI X12 (832)', /CSV/],
    ['TRADACOMS', "STX=ANA:1+A+B+260317:111500+1'MHD=1+PRIHDR:9'", 'TRADACOMS (PRIHDR)', /CSV/],
    ['a PDF', '%PDF-1.7\n%âãÏÓ', 'a PDF', /CSV/],
    [
      'a .tar archive',
      Buffer.concat([Buffer.from('a.csv'.padEnd(257, '\0')), Buffer.from('ustar\0'), Buffer.alloc(300)]),
      'a .tar archive',
      /\.gz or \.zip/,
    ],
    ['a .7z archive', Buffer.from('377abcaf271c0004', 'hex'), 'a compressed file', /\.gz or \.zip/],
    ['a .rar archive', 'Rar!\x1a\x07\x01\0', 'a compressed file', /\.gz or \.zip/],
    ['a database of Access', '\0\x01\0\0Standard Jet DB\0', 'a database of Access', /CSV/],
    ['a Parquet file', 'PAR1\x15\0\x15', 'a Parquet file', /CSV/],
  ])('%s', async (_about, content, name, cure) => {
    for (const [connector, stream] of [
      [csv, {}],
      [json, {}],
      [xml, { at: '/a/b' }],
      [xlsx, {}],
      [fixedWidth, { columns: [{ name: 'a', from: 1, length: 8 }] }],
    ] as const) {
      const { message, suggestion } = await failure(connector, content, stream);
      expect(message).toBe(`in is ${name}, which dpp-sync does not read.`);
      expect(suggestion).toMatch(cure);
    }
  });

  it('flat IDocs, which have columns of fixed width, and a database of SQLite are called what they are', async () => {
    const idoc = `EDI_DC40  1000000000000100001${' '.repeat(20)}MATMAS05\nE2MARAM009`;
    for (const connector of [csv, json]) {
      expect(await failure(connector, idoc)).toMatchObject({
        message: 'in is SAP IDocs as flat text (MATMAS), which dpp-sync does not read.',
        suggestion: expect.stringContaining('connector: sap-idoc') as unknown,
      });
    }
    await using folder = await temporaryFolder({ in: idoc });
    const stream = { path: 'in', columns: [{ name: 'a', from: 1, length: 8 }] };
    expect(await readRows(fixedWidth, { folder: folder.path, stream })).toHaveLength(2);
    expect((await failure(csv, 'SQLite format 3\0')).suggestion).toContain('connector: sql');
  });
});

describe('a file that is read as another format is called what it is', () => {
  it.each<[string, Connector, string | Buffer, string]>([
    ['XML as CSV', csv, XML, 'in is XML, not CSV.'],
    ['XML with a byte order mark as CSV', csv, `\ufeff${XML}`, 'in is XML, not CSV.'],
    ['XML in UTF-16 as CSV', csv, Buffer.from(`\ufeff${XML}`, 'utf16le'), 'in is XML, not CSV.'],
    ['an error page as CSV', csv, HTML, 'in is an HTML page, not CSV.'],
    ['JSON as CSV', csv, ' [ {"sku": 1} ]', 'in is JSON, not CSV.'],
    ['a workbook as CSV', csv, SPREADSHEET, `in ${WORKBOOK}`],
    ['XML as JSON', json, XML, 'in is XML, not JSON.'],
    ['XML without a declaration as JSON', json, '\uFEFF\n<parts><part/></parts>\n', 'in is XML, not JSON.'],
    ['an error page as JSON', json, HTML, 'in is an HTML page, not JSON.'],
    ['a workbook as JSON', json, SPREADSHEET, `in ${WORKBOOK}`],
    ['an empty file as CSV', csv, '', 'in has no header row: it is empty.'],
    ['an empty file as JSON', json, '', 'in is empty.'],
    ['blank lines as JSON', json, '\n \n', 'in is empty.'],
  ])('a file read as another format is recognised: %s', async (_about, connector, content, message) => {
    expect((await failure(connector, content)).message.replace(/^\/.*\//, '')).toBe(message);
  });

  it.each([
    ['XML', `<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n${WORKBOOK_AS_XML}`],
    ['XML without a declaration', WORKBOOK_AS_XML],
    ['HTML', '<html xmlns:x="urn:schemas-microsoft-com:office:excel"><table><tr><td>A-1</td></tr></table></html>'],
    ['a web archive', 'MIME-Version: 1.0\r\nX-Document-Type: Workbook\r\nContent-Type: multipart/related\r\n'],
  ])('a workbook in the form of %s is called what it is', async (_about, content) => {
    for (const connector of [csv, json, xlsx]) {
      const { message, suggestion } = await failure(connector, content);
      expect(message).toMatch(/^in is a workbook in the form of XML or HTML, not /);
      expect(suggestion).toContain('save it as .xlsx');
    }
  });

  it('a workbook in the form of XML may be read as XML', async () => {
    await using folder = await temporaryFolder({ in: WORKBOOK_AS_XML });
    const stream = { path: 'in', at: '/Workbook/Worksheet/Table/Row' };
    expect(await readRows(xml, { folder: folder.path, stream })).toHaveLength(1);
  });

  it('a file that is read as another format is reported with what to do', async () => {
    expect((await failure(csv, XML)).suggestion).toMatch(
      /^Use `connector: xml` for it\. The files of a source have one format/,
    );
    expect((await failure(json, HTML)).suggestion).toContain('open the file in a browser');
  });
});

it.each([
  'sku;name',
  '"<b>";x',
  '<5 kg;yes',
  '{curly};x',
  '[1];[2]',
  'PK;1',
  'PAR1;x',
  'UNA;UNB;UNH',
  'UNB;NAME;1',
  'UNB+NAME+1',
  'UNAME;PASS',
  'ISA;00;x',
  'STX=1;2',
  'EDI_DC40;x',
  'BZhang;1',
  '%PDF',
  '﻿a,b',
  '',
  '[id],[name]',
])('the recognition of content takes %j for text', (text) => {
  expect(recogniseContent(Buffer.from(text))).toBeNull();
});

it('the recognition of content takes no delimited text of letters, digits and separators for anything else', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'Z', '0', ';', ',', '"', ' ', '\n', 'ä', '.', '-'),
    minLength: 1,
  });
  fc.assert(fc.property(text, (content) => recogniseContent(Buffer.from(content)) === null));
});
