import type Database from 'better-sqlite3';

/** Moves the exports that the guard holds because of their age into a table of their own, and adds the times of files. */
export function separateOlderExports(db: Database.Database): void {
  db.exec(`
    CREATE TABLE older_exports (
      stream_id INTEGER PRIMARY KEY REFERENCES streams (id),
      run_id INTEGER NOT NULL,
      since INTEGER NOT NULL,
      as_of INTEGER,
      missing INTEGER NOT NULL,
      read INTEGER NOT NULL,
      message TEXT NOT NULL,
      accepted_at INTEGER
    ) STRICT;
    INSERT INTO older_exports (stream_id, run_id, since, missing, read, message, accepted_at)
      SELECT stream_id, run_id, since, missing, read, message, accepted_at FROM guarded_reads WHERE missing = 0;
    DELETE FROM guarded_reads WHERE missing = 0;
    ALTER TABLE streams ADD COLUMN read_files TEXT`);
}
