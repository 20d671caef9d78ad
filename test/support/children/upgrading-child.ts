// A process that brings a ledger up to date and ends.

import { openDatabase } from '../../../src/ledger/store/database.ts';

openDatabase(process.argv[2] ?? '').close();
