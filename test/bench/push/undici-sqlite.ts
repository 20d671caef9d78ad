// A script with a ledger: it stores each row before the row is sent, and the remote id after the answer. It commits in groups,
// because this makes such a script faster with little effort.

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Pool } from 'undici';
import { bodyOf, compete, HEADERS, rowsOf } from '../support/contender.ts';

await compete(async ({ baseUrl, csv, connections, folder }) => {
  const pool = new Pool(baseUrl, { connections, pipelining: 1 });
  const db = new Database(join(folder, 'script.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE sent (sku TEXT PRIMARY KEY, body TEXT NOT NULL, remote_id TEXT) STRICT');
  const note = db.prepare<[string, string]>('INSERT INTO sent (sku, body) VALUES (?, ?)');
  const settle = db.prepare<[string, string]>('UPDATE sent SET remote_id = ? WHERE sku = ?');
  let pending: { run: () => void; done: () => void }[] = [];
  const flush = (): void => {
    const group = pending;
    pending = [];
    db.transaction(() => {
      for (const { run } of group) run();
    }).immediate();
    for (const { done } of group) done();
  };
  const commit = (run: () => void): Promise<void> =>
    new Promise((done) => {
      if (pending.push({ run, done }) === 1) setImmediate(flush);
    });
  return async () => {
    const rows = rowsOf(csv)[Symbol.asyncIterator]();
    const send = async (): Promise<void> => {
      for (let next = await rows.next(); !next.done; next = await rows.next()) {
        const { SKU } = next.value;
        const body = bodyOf(next.value);
        await commit(() => void note.run(SKU, body));
        const answer = await pool.request({ method: 'POST', path: '/api/products/', headers: HEADERS, body });
        const { id } = (await answer.body.json()) as { id: number };
        await commit(() => void settle.run(String(id), SKU));
      }
    };
    await Promise.all(Array.from({ length: connections }, send));
  };
});
