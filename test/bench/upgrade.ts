// Measures the upgrade of a ledger of an older version: `npm run bench:upgrade`. The keys are in no order, a tenth of the
// items was written twice and has an event, and a fiftieth was sent and waits to be sent again. The table is written to
// docs/performance.md, unless the environment sets other counts.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { MIGRATIONS } from '../../src/ledger/upgrade/steps/first-migrations.ts';
import { sha256Url } from '../../src/lib/hash.ts';
import { table, writeBetween } from './support/document.ts';
import { machine } from './support/machine.ts';

const ASKED = process.env['BENCH_COUNTS'];
const COUNTS = (ASKED ?? '10000,100000,1000000').split(',').map(Number);

interface Upgraded {
  backupMs: number;
  upgradeMs: number;
  peakMb: number;
  /** The bytes of the ledger before the upgrade, and the bytes that the upgrade needed beside it. */
  before: number;
  room: number;
}

function makeLedger(file: string, count: number): void {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = OFF');
  for (const sql of MIGRATIONS) db.exec(sql);
  db.pragma(`user_version = ${MIGRATIONS.length}`);
  db.exec("INSERT INTO streams (id, source, name, mapping_revision) VALUES (1, 'erp', 'products', 'r')");
  const sql = {
    record: db.prepare(
      'INSERT INTO records (id, stream_id, key, hash, raw, place, version, state) VALUES (?, 1, ?, ?, ?, \'{"file":"products.csv"}\', 1, \'mapped\')',
    ),
    item: db.prepare(
      `INSERT INTO items (id, kind, key, natural_key, record_id, source, appeared_at, desired, desired_hash, baseline, baseline_hash,
         remote_id, revision) VALUES (@n, 'product', @key, @key, @n, 'erp', 0, @text, @hash, @baseline, @baselineHash, @remoteId, @revision)`,
    ),
    delivery: db.prepare(
      `INSERT INTO deliveries (item_id, operation, revision, state, idempotency_key, desired, desired_hash, path, body, attempts, staged_at,
         sent_at) VALUES (@n, 'product.create', @revision, @state, @key, @text, @hash, '/api/products/', @text, 1, 0, 1)`,
    ),
    event: db.prepare(
      'INSERT INTO events (item_id, delivery_id, at, type, detail) VALUES (?, ?, 0, \'doubt\', \'{"code":"timeout"}\')',
    ),
  };
  db.transaction(() => {
    for (let n = 1; n <= count; n += 1) {
      const key = sha256Url(`key ${n}`).slice(0, 16);
      const text = JSON.stringify({
        brand: 'Nordwerk',
        description: `Number ${n} of the collection, made for a test.`,
        name: `Tent ${n}`,
        sku: key,
        weight_kg: 1.25,
      });
      const hash = sha256Url(text);
      sql.record.run(n, key, hash, text);
      const isOpen = n % 50 === 0;
      const revision = n % 10 === 0 ? 2 : 1;
      const acknowledged = isOpen
        ? { baseline: null, baselineHash: null, remoteId: null }
        : { baseline: text, baselineHash: hash, remoteId: `${n}` };
      sql.item.run({ n, key, text, hash, revision, ...acknowledged });
      if (revision === 2) {
        const former = { n, revision: 1, state: 'delivered', key: sha256Url(`1 ${n}`), text: null, hash };
        sql.event.run(n, sql.delivery.run(former).lastInsertRowid);
      }
      sql.delivery.run({
        n,
        revision,
        state: isOpen ? 'due' : 'delivered',
        key: sha256Url(`${revision} ${n}`),
        text: isOpen ? text : null,
        hash,
      });
    }
  })();
  db.close();
}

const folder = mkdtempSync(join(tmpdir(), 'dpp-bench-'));
try {
  const rows = COUNTS.map((count) => {
    const file = join(folder, `${count}.db`);
    makeLedger(file, count);
    const script = join(import.meta.dirname, 'support/upgrade-process.ts');
    const text = execFileSync(process.execPath, [script, file], { encoding: 'utf8' });
    const { backupMs, upgradeMs, peakMb, before, room } = JSON.parse(text) as Upgraded;
    const seconds = [backupMs, upgradeMs].map((ms) => (ms / 1000).toFixed(1));
    const megabytes = [peakMb, before / 1e6, room / 1e6].map((one) => one.toFixed(0));
    return [count.toLocaleString('en'), ...seconds, ...megabytes];
  });
  const head = ['items', 'backup, s', 'upgrade, s', 'memory, MB', 'ledger before, MB', 'room needed beside it, MB'];
  const text = table(head, rows);
  process.stdout.write(`${text}\n`);
  if (ASKED === undefined) writeBetween('bench:upgrade', `${machine()}.\n\n${text}`);
} finally {
  rmSync(folder, { recursive: true });
}
