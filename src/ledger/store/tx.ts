import type { LedgerContext } from './context.ts';
import type { Transaction } from './transaction.ts';

/**
 * An open transaction of the ledger. Only the group commit and `inTransaction` make one, so what takes a `tx` runs inside
 * a transaction. It is synchronous: a `tx` is not kept beyond the call that it was given to.
 */
export interface Tx extends LedgerContext, Transaction {}

/** What a read takes that may run outside a transaction. A `Tx` is one too. */
export type Reads = LedgerContext;
