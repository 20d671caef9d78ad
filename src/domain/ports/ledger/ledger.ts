// The interface of the ledger. Every method is one whole transaction, so that PostgreSQL can implement it as well as
// SQLite. When a method's promise resolves, its changes are on the disk. The parts are named after their users, and
// each user takes only the part that it needs.

import type { CareLedger, PeopleLedger } from './care-ledger.ts';
import type { ContactLedger } from './contact-ledger.ts';
import type { DeliveryLedger, ImportLedger, PassportLedger, UnconfirmedLedger } from './delivery-ledger.ts';
import type { IntakeLedger } from './intake-ledger.ts';
import type { ReplayLedger } from './replay-ledger.ts';

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
