// A process that upgrades a ledger and ends.

import { openDatabase } from '../../../src/ledger/store/database.ts';

openDatabase(process.argv[2] ?? '').close();
