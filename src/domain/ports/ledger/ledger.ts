// The interface of the ledger. Every method is one whole transaction, so that PostgreSQL can implement it as well as
// SQLite. When a method's promise resolves, its changes are on the disk. The parts are named after their users, and
// each user takes only the part that it needs.

import type { CareLedger } from './care-ledger.ts';
import type { ContactLedger } from './contact-ledger.ts';
import type { DeliveryLedger } from './delivery-ledger.ts';
import type { ImportLedger } from './import-ledger.ts';
import type { IntakeLedger } from './intake-ledger.ts';
import type { PassportLedger } from './passport-ledger.ts';
import type { PeopleLedger } from './people-ledger.ts';
import type { ReplayLedger } from './replay-ledger.ts';
import type { UnconfirmedLedger } from './unconfirmed-ledger.ts';

export interface Ledger
  extends IntakeLedger,
    DeliveryLedger,
    ImportLedger,
    UnconfirmedLedger,
    ContactLedger,
    PassportLedger,
    ReplayLedger,
    PeopleLedger,
    CareLedger {}
