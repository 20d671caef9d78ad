// Pulls rows in pages of two into the ledger world of `argv[2]`, and kills itself with SIGKILL after a page is mapped
// and before it is stored.

import { createPageWorld, pagesOf, sourceRow } from '../../support/worlds/page-world.ts';

const [, , folder = '', number = ''] = process.argv;
let pages = 0;
const world = await createPageWorld({
  folder,
  aroundLedger: (ledger) => ({
    ...ledger,
    stagePage(page) {
      pages += 1;
      if (pages === Number(number)) process.kill(process.pid, 'SIGKILL');
      return ledger.stagePage(page);
    },
  }),
});
const rows = ['1', '2', '3', '4', '5', '6'].map((id) => sourceRow({ id }));
await world.pull({ pages: pagesOf(rows, 2) });
