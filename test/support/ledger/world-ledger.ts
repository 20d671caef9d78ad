import { join } from 'node:path';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import type { World } from '../worlds/world.ts';
import { openLedger } from './ledger.ts';

/** Opens the ledger of a world without queue and API, which is much faster than a sync. */
export async function withLedger<T>(world: World, work: (ledger: SqliteLedger) => Promise<T>): Promise<T> {
  const ledger = openLedger(join(world.folder, 'data/ledger.db'), { target: world.baseUrl });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}
