import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { LONG_COMMENT, recordsOf } from './xml.ts';

const AT = { at: '/a/r' };
const document = (declared: string) => `${declared}<a><r><n>Größe €</n></r></a>`;
const declaration = (encoding: string) => `<?xml version="1.0" encoding="${encoding}"?>`;
const nameIn = async (bytes: Uint8Array, encoding?: string) =>
  (await recordsOf(bytes, { ...AT, encoding }))[0]?.fields['n'];

describe('the encoding of an XML file', () => {
  it.each([
    ['utf-8 without a declaration', document(''), 'utf-8', false],
    ['utf-8 with a byte order mark', document(declaration('UTF-8')), 'utf-8', true],
    ['what the declaration says', document(declaration('windows-1252')), 'windows-1252', false],
    ['ISO-8859-15', document(declaration('ISO-8859-15')), 'iso-8859-15', false],
    ['UTF-16 with a byte order mark', document(declaration('utf-16')), 'utf-16le', true],
    ['UTF-16 without one', document(declaration('UTF-16')), 'utf-16be', false],
    ['little-endian UTF-16 without one', document(''), 'utf-16le', false],
    ['UTF-8 that declares UTF-16', document(declaration('utf-16')), 'utf-8', false],
  ])('the encoding of an XML file is found: %s', async (_about, text, encoding, addBOM) => {
    expect(await nameIn(iconv.encode(text, encoding, { addBOM }))).toBe('Größe €');
  });

  it('the encoding of an XML file is that of the config where the declaration is wrong', async () => {
    const bytes = iconv.encode(document(declaration('UTF-8')), 'windows-1252');
    expect(await nameIn(bytes, 'windows-1252')).toBe('Größe €');
  });

  it('the encoding of an XML file is named when it is not known', async () => {
    await expect(nameIn(Buffer.from(document(declaration('x-klingon'))))).rejects.toThrow(
      'declares the encoding x-klingon',
    );
  });

  it('an encoding that does not fit an XML file costs the record, also when its bytes come in pieces', async () => {
    const bytes = iconv.encode(
      `<a>${LONG_COMMENT}<r><n>gut</n></r><r><n>Größe</n></r><r><n>auch</n></r></a>`,
      'latin1',
    );
    for (const piece of [3, 7, 4_096]) {
      const records = await recordsOf(bytes, AT, piece);
      expect(records.map((record) => record.issues?.map((issue) => issue.code))).toEqual([
        undefined,
        ['row.encoding'],
        undefined,
      ]);
    }
  });
});

describe('a file that is no XML', () => {
  it.each([
    ['gzip', Buffer.from([0x1f, 0x8b, 8, 0]), 'compressed with gzip'],
    ['a ZIP archive', 'PK\u0003\u0004rest', 'export.xml is a .zip file, not XML.'],
    ['JSON', '{"parts": []}', 'is JSON, not XML.'],
    ['a list', '[1, 2]', 'looks like JSON'],
    ['CSV', 'MATNR;MAKTX\n1;2', 'looks like delimited text (CSV)'],
    ['a page', '<!DOCTYPE html>\n<html><body>Login</body></html>', 'is an HTML page'],
    ['another page', '\n <HTML lang="en">', 'is an HTML page'],
    ['a PDF', '%PDF-1.7', 'is a PDF, which dpp-sync does not read.'],
    ['EDIFACT', "UNB+UNOA:3+A'UNH+1+PRICAT:D'", 'is EDIFACT (PRICAT), which dpp-sync does not read.'],
    ['binary', Buffer.from([1, 2, 0, 4]), 'is a binary file'],
    ['text', 'Hello.', 'begins with "Hello."'],
    ['nothing', '', 'export.xml is empty'],
    ['white space', ' \n', 'export.xml is empty'],
  ])('a file that is no XML is named: %s', async (_about, content, message) => {
    await expect(recordsOf(content, AT)).rejects.toThrow(message);
  });

  it('a file that is no XML is named by line and column where it breaks', async () => {
    await expect(recordsOf('<a>\n<r>\n <n>1</m></r></a>', AT)).rejects.toThrow(
      'export.xml, line 3, column 10: The file is not well-formed XML in <r>: the closing tag of <n> is missing.',
    );
    await expect(recordsOf('<a><r>1</r><r>', AT)).rejects.toThrow('The file ends before it is complete in <r>.');
    await expect(recordsOf('<a/><a/>', { at: '/a' })).rejects.toThrow('documents may contain only one root');
    await expect(recordsOf('<a><r x=1/></a>', AT)).rejects.toThrow('unquoted attribute value');
  });

  it('an XML file with another root is refused', async () => {
    await expect(recordsOf('<order/>', { ...AT, roots: ['BMECAT'] })).rejects.toThrow(
      'export.xml is an XML document of <order>, not of <BMECAT>.',
    );
  });
});
