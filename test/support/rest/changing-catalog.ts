import Database from 'better-sqlite3';
import { expect } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import { startODataServer } from './odata-server.ts';

export interface CatalogOptions {
  /** How many items the catalogue has at first. */
  items: number;
  pageRows: number;
  random: () => number;
}

/** The stream that reads the catalogue: changes by delta links, with tombstones. */
export const CATALOG_STREAM = {
  get: 'items',
  headers: { Prefer: 'odata.track-changes' },
  query: { $count: 'true' },
  rows: '$.value',
  page: { by: 'nextLink', next: '$["@odata.nextLink"]', countsRows: true, total: '$["@odata.count"]' },
  changes: {
    deltaLink: '$["@odata.deltaLink"]',
    gone: { at: '$["@odata.context"]', contains: '$deletedEntity', key: { id: '$.id' }, entityId: true },
  },
};

/** A catalogue of items behind OData, in which items change, come and go at random, also while it is read. */
export async function createChangingCatalog({ items, pageRows, random }: CatalogOptions) {
  const during = { requests: 0, onRequest: null as (() => void) | null };
  const service = await startODataServer({
    pageRows,
    before: () => {
      if (during.requests > 0) {
        during.requests -= 1;
        churn({ changed: 5, added: 2, removed: 2 });
      }
      during.onRequest?.();
      return null;
    },
    sets: { items: { version: 4, key: ['id'], changedAt: 'changedAt', delta: 'link' } },
  });
  const set = service.set('items');
  const ids: string[] = [];
  let made = 0;
  const write = (id: string): void => {
    made += 1;
    set.put({ id, name: `Item ${made}` });
  };
  /** New items lie anywhere between the others. */
  const add = (): void => {
    const id = `${Math.floor(random() * 1e9).toString(36)}-${made}`;
    ids.push(id);
    write(id);
  };
  function churn({ changed, added, removed }: { changed: number; added: number; removed: number }): void {
    const any = (): number => Math.floor(random() * ids.length);
    service.advance(1_000);
    for (let count = 0; count < changed; count += 1) write(ids[any()] ?? '');
    for (let count = 0; count < added; count += 1) add();
    for (let count = 0; count < removed; count += 1) {
      const at = any();
      const last = ids.pop() ?? '';
      const gone = at === ids.length ? last : (ids[at] ?? '');
      if (at < ids.length) ids[at] = last;
      set.remove(gone);
    }
  }
  for (let count = 0; count < items; count += 1) add();

  return {
    service,
    churn,
    /** Items change, come and go at each of the next requests. */
    churnDuring(requests: number): void {
      during.requests = requests;
    },
    /** Calls a function at the request with this number, counted from now; at no request for null. */
    atRequest(number: number, then: () => void): void {
      let left = number;
      during.onRequest = () => {
        left -= 1;
        if (left === 0) then();
      };
    },
    /** How many items have changed or come since a delta token, and are still there; for null the number of all items. */
    changedSince: (token: string | null): number =>
      token === null ? ids.length : set.since(Number(token)).filter(({ fields }) => fields !== null).length,
    /** The ledger has exactly the items of the catalogue, with their present content, as records and as items. */
    expectIn(ledgerFile: string): void {
      const db = new Database(ledgerFile, { readonly: true });
      try {
        const present = new Map(set.rows().map(({ key, fields }) => [key, fields]));
        const records = db.prepare<[], { raw: string }>('SELECT raw FROM records WHERE missing_since IS NULL').all();
        const wrong = records
          .map(({ raw }) => JSON.parse(raw) as JsonObject)
          .filter(({ id, name, changedAt }) => {
            const own = present.get(id as string);
            return own?.['name'] !== name || own?.['changedAt'] !== changedAt;
          });
        expect(wrong).toEqual([]);
        expect(records).toHaveLength(present.size);
        const products = db
          .prepare<[], string>("SELECT key FROM items WHERE kind = 'product' AND missing_since IS NULL")
          .pluck()
          .all();
        expect(products.filter((key) => !present.has(key))).toEqual([]);
        expect(new Set(products).size).toBe(present.size);
        expect(products).toHaveLength(present.size);
      } finally {
        db.close();
      }
    },
  };
}

export type ChangingCatalog = Awaited<ReturnType<typeof createChangingCatalog>>;
