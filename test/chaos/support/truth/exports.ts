// The exports of the night: rows that a server gives page by page, so that a test can hold a read at any page.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { JsonObject } from '../../../../src/lib/json.ts';
import { scaled } from '../../../support/runner/chaos.ts';
import { listenLocally } from '../../../support/servers/local-server.ts';

export type Stream = 'products' | 'materials' | 'boms';

/** The rows of each stream. The server gives what they are when a page is asked for. */
export type Exports = Record<Stream, JsonObject[]>;

const PRODUCTS = scaled(3000, 6000);
const MATERIALS = scaled(500, 1000);

/** The rows as they should be: a third of the products has a bill of three parts. */
export function wholeExports(): Exports {
  const products = numbers(PRODUCTS).map((n) => ({
    SKU: `P-${n}`,
    NAME: `Product ${n}`,
    // Some rows name a country that nobody knows.
    COUNTRY: n % 150 === 0 ? 'Germny' : n % 500 === 1 ? 'Tschechei' : 'DE',
  }));
  const materials = numbers(MATERIALS).map((n) => ({
    CODE: `M-${n}`,
    NAME: `Material ${n}`,
    SHARE: n % 200 === 7 ? 'x' : '0.5',
  }));
  const boms = numbers(PRODUCTS / 3).flatMap((n) =>
    [1, 2, 3].map((position) => ({
      SKU: `P-${n * 3}`,
      POS: String(position),
      // The part of some lines is in no file.
      PART: n % 400 === 5 && position === 3 ? `M-gone-${n}` : `M-${(n * position) % MATERIALS}`,
      QTY: n % 333 === 9 && position === 1 ? '12,5,0' : '1.5',
    })),
  );
  return { products, materials, boms };
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

const PAGE_ROWS = 500;

/** Serves the rows. While `hold` is called last, no page is answered. */
export async function serveExports(exports: Exports) {
  let open: Promise<void> = Promise.resolve();
  let release: () => void = () => undefined;
  let held = 0;
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const from = Number(url.searchParams.get('from'));
    held += 1;
    await open;
    held -= 1;
    const rows = exports[url.pathname.slice(1) as Stream].slice(from, from + PAGE_ROWS);
    response.end(JSON.stringify(rows));
  }
  const server = createServer((request, response) => void answer(request, response));
  return {
    url: await listenLocally(server),
    hold() {
      open = new Promise((resolve) => {
        release = resolve;
      });
    },
    release: () => release(),
    /** How many pages wait for an answer. */
    held: () => held,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

const SDK = pathToFileURL(join(import.meta.dirname, '../../../../src/sdk/index.ts')).href;

/** A connector that reads the rows of this server. */
export const CONNECTOR = `import { defineConnector, z } from '${SDK}';
export default defineConnector({
  id: 'paged',
  title: 'Rows of a server, page by page',
  reads: 'snapshot',
  options: z.strictObject({ url: z.string().describe('The address.') }),
  streamOptions: z.strictObject({}),
  async open({ url }) {
    return {
      async check() { return { found: 'a server' }; },
      async *pull({ name }) {
        for (let from = 0; ; ) {
          const rows = await (await fetch(url + '/' + name + '?from=' + from)).json();
          if (rows.length === 0) return;
          yield { rows: rows.map((fields, at) => ({ fields, place: { file: name, line: from + at + 2 } })) };
          from += rows.length;
        }
      },
      async close() {},
    };
  },
});
`;
