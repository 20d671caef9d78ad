// One export is read from CSV files and from the tables of two servers. The platform gets the same items.

import { expect, it } from 'vitest';
import {
  adventureworksSources,
  adventureworksTables,
  fillAdventureworks,
  readAdventureworks,
} from '../../support/connectors/adventureworks.ts';
import { describeRealExport } from '../../support/connectors/real-exports.ts';
import { text } from '../../support/ledger/items.ts';
import type { DatabaseServer } from '../../support/servers/database-server.ts';
import { describeMariaDb, startMariaDb } from '../../support/servers/mariadb-server.ts';
import { describePostgres, startPostgres } from '../../support/servers/postgres-server.ts';
import { createWorld } from '../../support/worlds/world.ts';

/** Syncs twice. Returns the content of the platform, without the ids that it assigns, and the counts of the second sync. */
async function delivered(sources: unknown[], change?: () => Promise<void>) {
  const sandbox = { gates: { materialData: { enabled: false } } };
  const world = await createWorld({ config: { sources }, sandbox, queue: 'embedded' });
  try {
    await world.sync();
    const contents = world.contents();
    const skuOf = new Map(contents.products.map(({ id, sku }) => [id, text(sku)]));
    const products = contents.products.map((row) =>
      ['sku', 'name', 'status'].map((name) => text(row[name])).join(' | '),
    );
    const lines = contents.bomItems.map(
      (row) => `${skuOf.get(row.product)} < ${skuOf.get(row.component)} x ${Number(row.quantity)} ${text(row['unit'])}`,
    );
    world.requests();
    await change?.();
    const again = await world.sync();
    const reads = again.runs.map(({ read, changed }) => [read, changed]);
    return { products: products.toSorted(), lines: lines.toSorted(), sent: again.requests.sent, reads };
  } finally {
    await world.remove();
  }
}

describeRealExport('adventureworks', 'AdventureWorks out of tables', (folder) => {
  const test = async (start: () => Promise<DatabaseServer>, quote: string) => {
    const server = await start();
    try {
      await fillAdventureworks(folder, server, quote);
      const change = () =>
        server.run(
          `UPDATE product SET ${quote}Name${quote} = 'Another name', ${quote}ModifiedDate${quote} = '2026-01-01' WHERE ${quote}ProductID${quote} = 1`,
        );
      const { reads, sent, ...fromTables } = await delivered(adventureworksTables(server.options), change);
      const fromFiles = await delivered(adventureworksSources(folder));
      expect(fromTables).toEqual({ products: fromFiles.products, lines: fromFiles.lines });
      expect(fromTables.products).toHaveLength(readAdventureworks(folder).products.length);
      expect(fromTables.lines.length).toBeGreaterThan(2000);
      expect(fromFiles.sent).toBe(0);
      // The second sync reads only rows that are newer than the watermark minus the overlap, and sends the changed ones.
      expect(reads[0]?.[1]).toBe(1);
      expect(sent).toBeGreaterThan(0);
    } finally {
      await server.stop();
    }
  };
  describePostgres('of PostgreSQL', () => {
    it('PostgreSQL gives the same items as the files', () => test(startPostgres, '"'));
  });
  describeMariaDb('of MariaDB', () => {
    it('MariaDB gives the same items as the files', () => test(startMariaDb, '`'));
  });
});
