import { statSync } from 'node:fs';
import Database from 'better-sqlite3';

/** The ledger that a contender has left. */
export interface LedgerFile {
  /** The size, including the content of the write-ahead log: a contender ends without closing its ledger. */
  bytes: number;
  /** How many transactions with writes were committed since the ledger was created. */
  commits: number;
}

export function measureLedger(file: string): LedgerFile {
  const db = new Database(file);
  db.pragma('wal_checkpoint(TRUNCATE)');
  const commits = db.prepare<[], string>("SELECT value FROM meta WHERE name = 'generation'").pluck().get();
  db.close();
  if (commits === undefined) throw new Error(`${file} counts no commits`);
  return { bytes: statSync(file).size, commits: Number(commits) };
}
