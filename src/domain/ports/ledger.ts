// The ledger's port. Every method is one whole transaction; none hands one out, so that SQLite and PostgreSQL can both
// stand behind it. What a method promises, it has made durable when its promise resolves. Its parts are named after who uses
// them: whoever needs one part takes that alone.

import type { CareLedger } from './care-ledger.ts';
import type { DeliveryLedger } from './delivery-ledger.ts';
import type { ContactLedger } from './first-contact.ts';
import type { IntakeLedger } from './intake-ledger.ts';
import type { PassportLedger } from './passport-ledger.ts';
import type { ReplayLedger } from './replay-ledger.ts';
import type { UnconfirmedLedger } from './unconfirmed-ledger.ts';

export interface Ledger
  extends IntakeLedger,
    DeliveryLedger,
    UnconfirmedLedger,
    ContactLedger,
    PassportLedger,
    ReplayLedger,
    CareLedger {}
