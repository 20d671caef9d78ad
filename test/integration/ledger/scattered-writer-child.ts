// A process that writes to a ledger's file until its parent disconnects: `scattered-writer-child.ts FILE PAGES`. Each commit sets
// some of many values to one number, and adds the difference to their sum. After each PAGES pages, the log is copied into the database.

import Database from 'better-sqlite3';

const VALUES = 2000;
const CHANGED = 40;

const [file = '', pages = '0'] = process.argv.slice(2);
const db = new Database(file);
db.pragma('synchronous = OFF');
db.pragma(`wal_autocheckpoint = ${pages}`);
const set = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value');
const text = (value: number): string => String(value).padEnd(500);
const values = Array.from({ length: VALUES }, () => 0);
let sum = 0;
let commits = 0;

function commit(names: readonly number[]): void {
  commits += 1;
  db.transaction(() => {
    for (const name of names) {
      sum += commits - (values[name] ?? 0);
      values[name] = commits;
      set.run(`value ${name}`, text(commits));
    }
    set.run('sum', String(sum));
  })();
}

commit(values.map((_, name) => name));
process.send?.('writing');
let running = true;
process.once('disconnect', () => {
  running = false;
});
while (running) {
  // The places are spread over the whole file, by steps of a number that shares no factor with the number of values.
  for (let time = 0; time < 20; time += 1) {
    commit(Array.from({ length: CHANGED }, (_, at) => (commits * 7919 + at * 1237) % VALUES));
  }
  await new Promise((resolve) => setImmediate(resolve));
}
db.close();
