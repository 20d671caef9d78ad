// Uses ledgers in a folder without a free file descriptor, and prints what each use throws as one line of JSON. Run it with a
// low `ulimit -n`.

import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { openLedgerReads } from '../../../src/ledger/reads.ts';
import { systemCodeOf } from '../../../src/lib/errors.ts';
import { FORMS, NO_PASSPORTS, openLedger } from '../../support/ledger/ledger.ts';

const folder = process.argv[2] ?? '';
const file = join(folder, 'ledger.db');
await openLedger(file).close();

const taken: number[] = [];
/** Takes all descriptors but a number of them. */
function leave(free: number): void {
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if (systemCodeOf(error) !== 'EMFILE') throw error;
  }
  for (const descriptor of taken.splice(-free, free)) closeSync(descriptor);
}

const USES = {
  new: () => void openLedger(join(folder, 'new.db')).close(),
  write: () => void openLedger(file).close(),
  read: () => openLedgerReads({ file, passportRules: NO_PASSPORTS, forms: FORMS })?.close(),
  backup: () => void backUpLedger({ file, to: join(folder, 'to.db'), force: true, now: 0, onStep: () => {} }),
};

const thrown: { use: string; free: number; error: object | null }[] = [];
for (const free of [0, 1, 2, 3]) {
  for (const [use, act] of Object.entries(USES)) {
    leave(free);
    let error: object | null = null;
    try {
      act();
    } catch (found) {
      const { code, message, suggestion } = found as { code?: string; message: string; suggestion?: string };
      error = { code, message, suggestion };
    }
    thrown.push({ use, free, error });
    for (const descriptor of taken.splice(0)) closeSync(descriptor);
  }
}
process.stdout.write(`${JSON.stringify(thrown)}\n`);
