import Database from 'better-sqlite3';
import type { ModelSource } from '../world/model-source.ts';

interface RecordRow {
  stream: string;
  id: string;
  flavour: string;
  missing: 0 | 1;
}

/** Checks I1 in the committed rows: each change before a cursor is stored, and so is each row of a complete run. */
export function checkIntake(file: string, source: ModelSource): string[] {
  const db = new Database(file, { readonly: true });
  try {
    const stored = new Map(
      db
        .prepare<[], RecordRow>(
          `SELECT s.name AS stream, r.raw ->> 'id' AS id, r.raw ->> 'flavour' AS flavour,
             r.missing_since IS NOT NULL AS missing FROM records r JOIN streams s ON s.id = r.stream_id`,
        )
        .all()
        .map((row) => [`${row.stream} ${row.id}`, row]),
    );
    const problems: string[] = [];
    const cursors = db
      .prepare<[], { stream: string; cursor: string }>(
        'SELECT name AS stream, cursor FROM streams WHERE cursor IS NOT NULL',
      )
      .all();
    for (const { stream, cursor } of cursors) {
      for (const { id, flavour } of source.changedUpTo(stream, Number(cursor))) {
        if (stored.get(`${stream} ${id}`)?.flavour === flavour) continue;
        problems.push(`I1: the cursor of ${stream} is at ${cursor}, and ${id} is not stored as ${flavour}.`);
      }
    }
    const last = db.prepare<[], { result: string | null }>('SELECT result FROM runs ORDER BY id DESC LIMIT 1').get();
    if (last?.result !== 'complete') return problems;
    for (const { stream, id, flavour } of source.lastRead()) {
      const row = stored.get(`${stream} ${id}`);
      if (row?.flavour === flavour && row.missing === 0) continue;
      problems.push(`I1: the run is complete, and its ${stream} ${id} is not stored as ${flavour}.`);
    }
    return problems;
  } finally {
    db.close();
  }
}
