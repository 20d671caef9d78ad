// A thread that writes to a ledger's file: it commits two numbers that are always equal, until it gets the message to
// stop.

import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

const { file, stop } = workerData as { file: string; stop: SharedArrayBuffer };
const stopped = new Int32Array(stop);
const db = new Database(file);
const set = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value');
let commits = 0;
while (Atomics.load(stopped, 0) === 0) {
  commits += 1;
  db.transaction(() => {
    set.run('left', String(commits));
    set.run('right', String(commits));
  })();
  Atomics.store(stopped, 1, commits);
  if (commits === 1) parentPort?.postMessage('writing');
}
db.close();
