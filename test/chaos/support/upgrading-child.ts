// A process that upgrades a ledger by one more step than the program has, and ends.

import { openDatabase } from '../../../src/ledger/upgrade/open.ts';
import { LATER_STEPS } from '../../support/ledger/frozen-ledger.ts';

openDatabase(process.argv[2] ?? '', { steps: LATER_STEPS }).close();
