import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LedgerFile, measureLedger } from './ledger-file.ts';
import { compete, startRedis, startServer } from './measure.ts';

export const NIGHTS = 5;
/** One of this many rows gets another name each night. */
const ROWS_A_CHANGE = 100;

/**
 * Loads an export, changes one row of a hundred in it and syncs it again, for five nights. Each night changes other rows.
 *
 * @returns the ledger after the load and after the last night
 */
export async function loadAndChange(csv: string, count: number): Promise<{ loaded: LedgerFile; changed: LedgerFile }> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
  const own = join(folder, 'export.csv');
  const ledger = join(folder, 'ledger.db');
  cpSync(csv, own);
  const server = await startServer(0);
  const redis = await startRedis(folder);
  try {
    const job = {
      baseUrl: server.baseUrl,
      csv: own,
      folder,
      connections: 0,
      redisUrl: redis.url,
      creates: 'off',
    } as const;
    const sync = async (expected: number): Promise<void> => {
      await compete('push/dpp-sync.ts', job);
      const { products } = await server.taken();
      if (products !== expected) throw new Error(`${products} of ${expected} products arrived`);
    };
    await sync(count);
    const loaded = measureLedger(ledger);
    for (let night = 1; night <= NIGHTS; night += 1) await sync(changeRows(own, night));
    return { loaded, changed: measureLedger(ledger) };
  } finally {
    server.stop();
    redis.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Gives some products another name. Returns how many. */
function changeRows(csv: string, night: number): number {
  let changes = 0;
  const lines = readFileSync(csv, 'utf8').split('\n');
  const changed = lines.map((line, at) => {
    if (at % ROWS_A_CHANGE !== night || line === '') return line;
    changes += 1;
    return line.replace(/ l"/, ` l, lid ${night}"`);
  });
  // The first line has the names of the columns. It never changes, because the nights are counted from 1.
  writeFileSync(csv, changed.join('\n'));
  return changes;
}
