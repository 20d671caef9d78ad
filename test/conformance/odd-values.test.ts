// Takes every connector through the same odd values and column names. One table has the right answers.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { BUILT_IN } from '../../connectors/index.ts';
import { incomingRecord } from '../../src/pipeline/incoming-record.ts';
import type { Connector, JsonObject } from '../../src/sdk/index.ts';
import { readRows } from '../support/connectors/connector-reader.ts';
import { mapperOf } from '../support/connectors/map-row.ts';
import { textRow, workbook } from '../support/connectors/workbook.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { startRestServer } from '../support/rest/rest-server.ts';
import type { DatabaseServer } from '../support/servers/database-server.ts';
import { describeMariaDb, startMariaDb } from '../support/servers/mariadb-server.ts';
import { describePostgres, startPostgres } from '../support/servers/postgres-server.ts';

const ISSUE = Symbol('issue');
/** What a product of a row with this value as its SKU gets: its key and SKU, or an issue. */
const RIGHT: readonly (readonly [what: string, value: string, right: string | typeof ISSUE])[] = [
  ['a plain text', 'A1', 'A1'],
  ['a byte order mark', '\ufeffA1', 'A1'],
  ['two byte order marks', '\ufeff\ufeffA1', 'A1'],
  ['the padding of CHAR', 'A1        ', 'A1'],
  ['no-break spaces', '\u00a0A1\u00a0', 'A1'],
  ['line ends around', '\nA1\r\n', 'A1'],
  ['CR CR LF behind', 'A1\r\r\n', 'A1'],
  ['a line end inside', 'A1\nB', ISSUE],
  ['CR CR LF inside', 'A1\r\r\nB', ISSUE],
  ['a tab inside', 'A1\tB', ISSUE],
  ['a byte order mark inside', 'A1\ufeffB', ISSUE],
  ['NUL inside', 'A1\u0000B', ISSUE],
  ['a lone surrogate', 'A1\ud800B', ISSUE],
  ['a lone surrogate at the end', 'A1\udc00', ISSUE],
  ['a damaged character', 'A1\ufffdB', ISSUE],
  ['a text too long for a key', 'Ä'.repeat(513), ISSUE],
  ['a combining mark', 'A\u0308', 'A\u0308'],
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty'].map(
    (name) => [`the text ${name}`, name, name] as [string, string, string],
  ),
];
/** A field that does not identify. It stays as it is. */
const NAME = 'Pump \ufeff no 1';
const ODD_NAMES = ['id', 'constructor', '__proto__', 'toString', 'hasOwnProperty'];

interface Written {
  options?: JsonObject;
  stream: JsonObject;
  /** The key columns, for a connector that needs them. */
  key?: readonly string[];
}

interface Format {
  /** The names of the columns with the SKU and the name, where the format prescribes them. */
  columns?: { sku: string; name: string };
  /** True for a value that the format cannot hold. */
  lacks?: (value: string) => boolean;
  /** A name of a column that the driver refuses. The read then stops with an error that names it. */
  refusedName?: string;
  /** Writes a source with one row for each SKU. */
  write(folder: string, skus: readonly string[], columns: { sku: string; name: string }): Written | Promise<Written>;
}

const file = (folder: string, name: string, content: string | Uint8Array): { path: string } => {
  writeFileSync(join(folder, name), content);
  return { path: name };
};
/** XML text in which each character is a reference that XML would change or may not have. */
const xmlText = (text: string): string => text.replaceAll(/[\p{Cc}<&]/gu, (one) => `&#${one.charCodeAt(0)};`);
const xmlFile = (body: string) => `<?xml version="1.0" encoding="UTF-8"?>\n${body}`;
/** No XML document has these characters, not even as references. */
const isNotXml = (value: string) => value.includes('\0') || !value.isWellFormed();
/** For formats whose columns have a length. */
const isLong = (value: string) => value.length > 20;
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

const FORMATS: Readonly<Record<string, Format>> = {
  csv: {
    write: (folder, skus, { sku, name }) => ({
      stream: file(
        folder,
        'x.csv',
        [`${sku},${name}`, ...skus.map((one) => `${quoted(one)},${quoted(NAME)}`)].join('\n'),
      ),
    }),
  },
  json: {
    write: (folder, skus, { sku, name }) => ({
      stream: file(
        folder,
        'x.json',
        `[${skus.map((one) => `{${JSON.stringify(sku)}:${JSON.stringify(one)},${JSON.stringify(name)}:${JSON.stringify(NAME)}}`).join()}]`,
      ),
    }),
  },
  xlsx: {
    write: (folder, skus, { sku, name }) => {
      // A workbook writes characters that XML does not have as _xHHHH_.
      const cell = (text: string) =>
        text.replaceAll(
          /[^\P{Cc}\t\n]|\p{Surrogate}/gu,
          (one) => `_x${one.charCodeAt(0).toString(16).padStart(4, '0')}_`,
        );
      const rows = [textRow(1, sku, name), ...skus.map((one, at) => textRow(at + 2, cell(one), NAME))];
      return { stream: file(folder, 'x.xlsx', workbook({ sheet: rows.join('') })) };
    },
  },
  'fixed-width': {
    lacks: isLong,
    write: (folder, skus, { sku, name }) => ({
      options: { recordLength: 41 },
      stream: {
        ...file(folder, 'x.txt', skus.map((one) => `R${one.padEnd(20)}${NAME.padEnd(20)}`).join('')),
        columns: [
          { name: sku, from: 2, length: 20 },
          { name, from: 22, length: 20 },
        ],
      },
    }),
  },
  xml: {
    lacks: isNotXml,
    write: (folder, skus, { sku, name }) => {
      const parts = skus.map((one) => `<part><${sku}>${xmlText(one)}</${sku}><${name}>${NAME}</${name}></part>`);
      return { stream: { ...file(folder, 'x.xml', xmlFile(`<parts>${parts.join('')}</parts>`)), at: '/parts/part' } };
    },
  },
  bmecat: {
    lacks: isNotXml,
    columns: { sku: 'SUPPLIER_PID', name: 'DESCRIPTION_SHORT' },
    write: (folder, skus) => {
      const products = skus.map(
        (one) =>
          `<PRODUCT><SUPPLIER_PID>${xmlText(one)}</SUPPLIER_PID><PRODUCT_DETAILS><DESCRIPTION_SHORT>${NAME}</DESCRIPTION_SHORT></PRODUCT_DETAILS></PRODUCT>`,
      );
      const header = '<HEADER><CATALOG><CATALOG_ID>C</CATALOG_ID></CATALOG></HEADER>';
      const body = `<BMECAT version="2005">${header}<T_NEW_CATALOG>${products.join('')}</T_NEW_CATALOG></BMECAT>`;
      return { stream: file(folder, 'x.xml', xmlFile(body)) };
    },
  },
  gdsn: {
    lacks: isNotXml,
    columns: { sku: 'gtin', name: 'brandName' },
    write: (folder, skus) => {
      const items = skus.map(
        (one) =>
          `<transaction><documentCommand><documentCommandHeader type="ADD"/><catalogueItemNotification><catalogueItem><tradeItem><gtin>${xmlText(one)}</gtin><brandName>${NAME}</brandName></tradeItem></catalogueItem></catalogueItemNotification></documentCommand></transaction>`,
      );
      return { stream: file(folder, 'x.xml', xmlFile(`<message>${items.join('')}</message>`)) };
    },
  },
  'sap-idoc': {
    lacks: isNotXml,
    columns: { sku: 'MATNR', name: 'MTART' },
    write: (folder, skus) => {
      const idocs = skus.map(
        (one, at) =>
          `<IDOC><EDI_DC40><DOCNUM>${at + 1}</DOCNUM><MESTYP>MATMAS</MESTYP></EDI_DC40><E1MARAM><MSGFN>005</MSGFN><MATNR>${xmlText(one)}</MATNR><MTART>${NAME}</MTART></E1MARAM></IDOC>`,
      );
      const path = file(folder, 'x.xml', xmlFile(`<MATMAS05>${idocs.join('')}</MATMAS05>`));
      return { stream: { ...path, segment: 'E1MARAM' } };
    },
  },
  rest: {
    async write(_folder, skus, { sku, name }) {
      const rows = skus.map(
        (value, at) =>
          `{"n":${at},${JSON.stringify(sku)}:${JSON.stringify(value)},${JSON.stringify(name)}:${JSON.stringify(NAME)}}`,
      );
      const server = await startRestServer(() => ({ text: `[${rows.join()}]` }));
      onTestFinished(() => server.close());
      return { options: { base: server.base }, stream: { get: 'odd', page: { by: 'none' } }, key: ['n'] };
    },
  },
  sql: {
    write: (folder, skus, { sku, name }) => {
      const path = join(folder, 'x.db');
      rmSync(path, { force: true });
      const database = new Database(path);
      database.exec(`CREATE TABLE odd (n INTEGER, ${quoted(sku)} CHAR(20), ${quoted(name)} VARCHAR(20))`);
      const insert = database.prepare('INSERT INTO odd VALUES (?, ?, ?)');
      for (const [at, one] of skus.entries()) insert.run(at, one, NAME);
      database.close();
      return { options: { dialect: 'sqlite', file: 'x.db' }, stream: { query: 'SELECT * FROM odd', page: ['n'] } };
    },
  },
};

/** A server with a column CHAR, and the values that its dialect can hold. */
function serverFormat(server: DatabaseServer): Format {
  const isPostgres = server.dialect === 'postgresql';
  const name = (text: string) => (isPostgres ? quoted(text) : `\`${text}\``);
  const literal = (text: string) => {
    const hex = Buffer.from(text).toString('hex');
    return isPostgres ? `convert_from('\\x${hex}', 'UTF8')` : `CONVERT(x'${hex}' USING utf8mb4)`;
  };
  return {
    lacks: (value) => isLong(value) || (isPostgres && value.includes('\0')),
    ...(isPostgres ? {} : { refusedName: '__proto__' }),
    async write(_folder, skus, columns) {
      await server.run('DROP TABLE IF EXISTS odd');
      const [sku, other] = [name(columns.sku), name(columns.name)];
      const set = isPostgres ? '' : ' CHARACTER SET utf8mb4';
      await server.run(`CREATE TABLE odd (n INTEGER, ${sku} CHAR(20), ${other} VARCHAR(20))${set}`);
      for (const [at, one] of skus.entries()) {
        await server.run(`INSERT INTO odd VALUES (${at}, ${literal(one)}, ${literal(NAME)})`);
      }
      return { options: server.options, stream: { query: 'SELECT * FROM odd', page: ['n'] } };
    },
  };
}

/** Reads rows with these SKUs, and maps each of them to a product. */
async function productsOf(
  connector: Connector,
  { format, skus, columns }: { format: Format; skus: readonly string[]; columns: { sku: string; name: string } },
) {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-odd-'));
  try {
    const rows = await readRows(connector, { folder, ...(await format.write(folder, skus, columns)) });
    const [sku, name] = [columns.sku, columns.name].map((one) => `row[${JSON.stringify(one)}]`) as [string, string];
    const mapper = await mapperOf([{ to: 'product', key: sku, fields: { sku, name } }]);
    return rows.map((row) => {
      const { identity, issues, raw } = incomingRecord(row, [columns.sku], new Set());
      // What not every database can store is refused or escaped here.
      expect(Buffer.byteLength(identity)).toBeLessThanOrEqual(1024);
      expect(/(?<!\\)\\u0000/.test(raw)).toBe(false);
      const stored = { source: 'erp', stream: 'products', place: row.place, issues };
      const result = mapper.map({ ...stored, fields: JSON.parse(raw) as JsonObject });
      if (result.status === 'excluded') return result.status;
      if (result.status === 'quarantined') return ISSUE;
      const [item] = result.items;
      return { key: item?.key, sku: item?.payload['sku'], name: item?.payload['name'] };
    });
  } finally {
    await removeFolder(folder);
  }
}

function suite(load: () => Promise<Connector>, formatOf: () => Format): void {
  it('odd values have the answers of the table', async () => {
    const format = formatOf();
    const held = RIGHT.filter(([, value]) => format.lacks?.(value) !== true);
    const columns = format.columns ?? { sku: 'id', name: 'name' };
    const found = await productsOf(await load(), { format, skus: held.map(([, value]) => value), columns });
    const right = held.map(([what, , key]) => [what, key === ISSUE ? ISSUE : { key, sku: key, name: NAME }]);
    expect(held.map(([what], at) => [what, found[at]])).toEqual(right);
    expect(found).toHaveLength(held.length);
  });

  it('odd names of columns are names like any other', async () => {
    const format = formatOf();
    for (const sku of format.columns === undefined ? ODD_NAMES : []) {
      const columns = { sku, name: 'name' };
      const reading = productsOf(await load(), { format, skus: ['A1', 'constructor'], columns });
      if (sku === format.refusedName) {
        await expect(reading).rejects.toThrow(`The field name (${sku})`);
        continue;
      }
      const found = await reading;
      const product = (key: string) => ({ key, sku: key, name: NAME });
      expect([sku, found]).toEqual([sku, [product('A1'), product('constructor')]]);
    }
  });
}

for (const [id, load] of Object.entries(BUILT_IN)) {
  describe(`the connector ${id}`, () =>
    suite(load, () => {
      const format = FORMATS[id];
      if (format === undefined) throw new Error(`Write a format for the connector ${id}.`);
      return format;
    }));
}

function serverSuite(start: () => Promise<DatabaseServer>): void {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.stop());
  suite(BUILT_IN['sql'] as () => Promise<Connector>, () => serverFormat(server));
}
describePostgres('the connector sql on PostgreSQL', () => serverSuite(startPostgres));
describeMariaDb('the connector sql on MariaDB', () => serverSuite(startMariaDb));
