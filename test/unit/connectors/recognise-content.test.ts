import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csv } from '../../../connectors/csv/index.ts';
import { json } from '../../../connectors/json/index.ts';
import { type Connector, recogniseContent } from '../../../src/sdk/index.ts';
import { probe, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { textRow, workbook } from '../../support/connectors/workbook.ts';

const XML = '<?xml version="1.0"?>\n<BMECAT><T_NEW_CATALOG/></BMECAT>';
const HTML = '\n<!DOCTYPE html>\n<html><title>504 Gateway Timeout</title></html>';
const SPREADSHEET = workbook({ sheet: textRow(1, 'a') });

async function failure(
  connector: Connector,
  content: string | Buffer,
): Promise<{ message: string; suggestion: string }> {
  await using folder = await temporaryFolder({ in: content });
  const setup = { folder: folder.path, stream: { path: 'in' } };
  const error = await readRows(connector, setup).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: 'source.unreadable', suggestion: expect.stringMatching(/\.$/) });
  await expect(probe(connector, setup)).rejects.toMatchObject({ code: 'source.unreadable' });
  return error as { message: string; suggestion: string };
}

const WORKBOOK = 'is an XLSX workbook or another office document, which this connector does not read.';

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

  it('a file that is read as another format is reported with what to do', async () => {
    expect((await failure(csv, XML)).suggestion).toBe('Use `connector: xml` for it.');
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
