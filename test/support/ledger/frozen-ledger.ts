// A ledger of the first version that this program upgrades, and an upgrade for the tests of upgrades.

import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { STEPS, type UpgradeStep, versionAfter } from '../../../src/ledger/upgrade-steps.ts';
import { sha256Url } from '../../../src/lib/hash.ts';

/** After this time, every delivery of the frozen ledger that waits for a time is due. */
export const LATER = 4_000_000_000_000;

/** Makes the frozen ledger, with its log in the file. */
export function createFrozenLedger(file: string, { target }: { target?: string } = {}): void {
  write(file, readFileSync(new URL('frozen-ledger.sql', import.meta.url), 'utf8'));
  if (target !== undefined) write(file, `UPDATE meta SET value = '${target}' WHERE name = 'target'`);
}

/** Writes to a ledger as another version of the program does, which does not have it open any more afterwards. */
export function write(file: string, sql: string): void {
  const db = new Database(file);
  try {
    db.pragma('journal_mode = WAL');
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** Adds products that are due. */
export function addDueProducts(file: string, count: number, name: string): void {
  const db = new Database(file);
  const record = db.prepare(
    "INSERT INTO records (stream_id, key, hash, raw, place, version, state) VALUES (1, ?, ?, '{}', '{}', 1, 'mapped')",
  );
  const item = db.prepare(`INSERT INTO items
    (kind, key, natural_key, record_id, source, appeared_at, desired_hash, revision, state, operation, staged_at, desired)
    VALUES ('product', @key, @key, @record, 'erp', 900, @hash, 1, 'due', 'product.create', 1000, @desired)`);
  db.transaction(() => {
    for (let at = 0; at < count; at += 1) {
      const key = `more-${at}`;
      const desired = JSON.stringify({ name, sku: key });
      const hash = sha256Url(desired);
      item.run({ key, record: record.run(key, hash).lastInsertRowid, hash, desired });
    }
  })();
  db.close();
}

/**
 * A step that a later version could have: it replaces the largest table by a copy with one more column, and writes each
 * row again.
 */
const replaceItems: UpgradeStep = (db, onProgress) => {
  const made = db.prepare<[string], string>("SELECT sql FROM sqlite_schema WHERE tbl_name = 'items' AND type = ?");
  const [table = ''] = made.pluck().all('table');
  const indexes = made.pluck().all('index');
  db.exec(`ALTER TABLE items RENAME TO former_items; ${table};
    INSERT INTO items SELECT * FROM former_items;
    UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'former_items') WHERE name = 'items';
    DROP TABLE former_items`);
  onProgress(1, 2);
  for (const sql of indexes) if (sql !== null) db.exec(sql);
  db.exec('ALTER TABLE items ADD COLUMN later TEXT; UPDATE items SET later = upper(key)');
  onProgress(2, 2);
};

/** The steps of the program, and one more. */
export const LATER_STEPS: readonly UpgradeStep[] = [...STEPS, replaceItems];
export const LATER_VERSION: number = versionAfter(LATER_STEPS);

/** All rows of all tables in a file, read without the code under test and without the mark of a backup. */
export function contentOf(file: string): Record<string, unknown[]> {
  const db = new Database(file, { readonly: true });
  try {
    const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck();
    const rows = (table: string) =>
      db.prepare<[], Record<string, unknown>>(`SELECT * FROM "${table}" ORDER BY 1, 2`).all();
    return Object.fromEntries(
      tables.all().map((table) => [table, rows(table).filter((row) => row['name'] !== 'backup_at')]),
    );
  } finally {
    db.close();
  }
}

/** The `user_version` of a file, read without the code under test. */
export function versionOf(file: string): number {
  const db = new Database(file, { readonly: true });
  try {
    return Number(db.pragma('user_version', { simple: true }));
  } finally {
    db.close();
  }
}
