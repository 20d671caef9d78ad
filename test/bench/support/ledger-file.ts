import { statSync } from 'node:fs';
import Database from 'better-sqlite3';

/** What a contender has left of its ledger. */
export interface LedgerFile {
  /** With its log of writes brought into it: a contender ends without closing it. */
  bytes: number;
  /** How many transactions that wrote have been committed since the ledger was created. */
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
