import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type JsonObject, z } from '../../../src/sdk/index.ts';
import { type ConnectorFixtures, fileDamages } from '../../../src/sdk/testing/index.ts';
import { fixtureFolder, textOf } from './connector-reader.ts';
import { textRow, workbook } from './workbook.ts';

const Settings = z.strictObject({
  about: z.string(),
  options: z.record(z.string(), z.json()),
  stream: z.record(z.string(), z.json()),
});

const Samples = z
  .tuple([Settings.extend({ rows: z.int(), withIssues: z.int() })])
  .rest(Settings.extend({ rows: z.int(), withIssues: z.int() }));

interface LargeExport {
  options?: JsonObject;
  stream: JsonObject & { path: string };
  text(rows: number): string | Buffer;
}

const numbered = (count: number, row: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => row(at + 1));

/** A large export for each connector that reads files. */
const LARGE: Record<string, LargeExport> = {
  csv: {
    stream: { path: 'large.csv' },
    text: (rows) => `id,name\n${numbered(rows, (at) => `${at},${PADDING} ${at}\n`).join('')}`,
  },
  json: {
    stream: { path: 'large.json' },
    text: (rows) => `[${numbered(rows, (at) => JSON.stringify({ id: at, name: `${PADDING} ${at}` })).join(',\n')}]`,
  },
  'fixed-width': {
    stream: {
      path: 'large.txt',
      columns: [
        { name: 'id', from: 1, length: 10 },
        { name: 'name', from: 11, length: 60 },
      ],
    },
    text: (rows) =>
      numbered(rows, (at) => `${String(at).padStart(10, '0')}${`${PADDING} ${at}`.padEnd(60)}\n`).join(''),
  },
  xml: {
    stream: { path: 'large.xml', at: '/parts/part' },
    text: (rows) =>
      `<parts>${numbered(rows, (at) => `<part id="${at}"><name>${PADDING} ${at}</name></part>\n`).join('')}</parts>`,
  },
  bmecat: {
    stream: { path: 'large.xml' },
    text: (rows) =>
      `<BMECAT version="2005"><HEADER><CATALOG><CATALOG_ID>C</CATALOG_ID></CATALOG></HEADER><T_NEW_CATALOG>${numbered(
        rows,
        (at) =>
          `<PRODUCT mode="new"><SUPPLIER_PID>${at}</SUPPLIER_PID><PRODUCT_DETAILS><DESCRIPTION_SHORT>${PADDING}</DESCRIPTION_SHORT></PRODUCT_DETAILS></PRODUCT>\n`,
      ).join('')}</T_NEW_CATALOG></BMECAT>`,
  },
  gdsn: {
    stream: { path: 'large.xml' },
    text: (rows) =>
      `<message>${numbered(
        rows,
        (at) =>
          `<transaction><documentCommand><documentCommandHeader type="ADD"/><catalogueItemNotification><catalogueItem><tradeItem><gtin>${String(at).padStart(14, '0')}</gtin><brandName>${PADDING}</brandName></tradeItem></catalogueItem></catalogueItemNotification></documentCommand></transaction>\n`,
      ).join('')}</message>`,
  },
  'sap-idoc': {
    stream: { path: 'large.xml', segment: 'E1MARAM' },
    text: (rows) =>
      `<MATMAS05>${numbered(
        rows,
        (at) =>
          `<IDOC><EDI_DC40><DOCNUM>${at}</DOCNUM><MESTYP>MATMAS</MESTYP></EDI_DC40><E1MARAM><MSGFN>005</MSGFN><MATNR>${at}</MATNR><MTART>${PADDING}</MTART></E1MARAM></IDOC>\n`,
      ).join('')}</MATMAS05>`,
  },
  xlsx: {
    stream: { path: 'large.xlsx' },
    text: (rows) =>
      workbook({
        sheet: [textRow(1, 'id', 'name'), ...numbered(rows, (at) => textRow(at + 1, String(at), PADDING))].join(''),
      }),
  },
};
const PADDING = 'A part with a name of some length';

/** The fixtures of a connector for the conformance kit: its small files, and a large export. */
export function fixturesOf(id: string, contents: 'snapshot' | 'changes' = 'snapshot'): ConnectorFixtures {
  const folder = fixtureFolder(id);
  const [first, ...others] = Samples.parse(JSON.parse(readFileSync(join(folder, 'samples.json'), 'utf8')));
  const large = LARGE[id];
  if (large === undefined) throw new Error(`There is no large export for the connector ${id}.`);
  const withContents = <Sample extends { stream: JsonObject }>(sample: Sample): Sample => ({
    ...sample,
    stream: { ...sample.stream, contents },
  });
  // A group needs a snapshot.
  const fitting = others.filter(({ stream }) => contents === 'snapshot' || stream['group'] === undefined);
  const missing = `missing-${textOf(first.stream['path'])}`;
  return {
    folder,
    samples: [withContents(first), ...fitting.map(withContents)],
    refused: [
      { options: first.options, stream: { ...first.stream, path: '' } },
      { options: first.options, stream: { ...first.stream, files: 'some' } },
    ],
    unreachable: withContents({ options: first.options, stream: { ...first.stream, path: missing }, names: missing }),
    async large(rows, at) {
      const path = join(at, large.stream.path);
      await writeFile(path, large.text(rows));
      return { ...withContents(large), damages: fileDamages(path) };
    },
  };
}
