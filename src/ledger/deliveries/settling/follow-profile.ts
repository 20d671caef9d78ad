import { OPERATIONS, type Operation } from '../../../domain/delivery/operation.ts';
import { mayExplain, type Reason, storedReason } from '../../../domain/delivery/reason.ts';
import { type UnconfirmedPolicy, unconfirmedPolicy } from '../../../domain/delivery/unconfirmed-policy.ts';
import { ITEM_KINDS } from '../../../domain/item.ts';
import type { Profile } from '../../../domain/profile.ts';
import type { ItemRow } from '../../items/item-row.ts';
import { markUnconfirmed, reconcile } from '../../items/reconcile.ts';
import { readMeta, writeMeta } from '../../store/meta.ts';
import { column, statement } from '../../store/statement.ts';
import type { Tx } from '../../store/tx.ts';
import { isStuck } from '../delivery-states.ts';

const SQL = {
  /** For each value of `productUpdate`: the items whose change was staged under another value, and is not in flight. */
  stagedOtherwise: {
    import: column<[], number>(
      `SELECT id FROM items WHERE ${isStuck('items')} AND state = 'blocked' AND operation = 'product.update'`,
    ),
    none: column<[], number>(
      `SELECT id FROM items WHERE state = 'due' AND operation = 'product.import' AND uncertain = 0
       UNION ALL SELECT id FROM items WHERE ${isStuck('items')}
         AND state = 'rejected' AND operation = 'product.import'`,
    ),
  },
  /**
   * The items that a person wanted to have sent again in the form of the profile: their content is at the API, and they
   * have an open delivery.
   */
  sentAgain: column<[], number>(
    `SELECT id FROM items WHERE state = 'due' AND operation IN ('material.update', 'product.import')
       AND acknowledged = 1 AND sent_hash IS NULL
     UNION ALL SELECT id FROM items WHERE ${isStuck('items')}
       AND operation IN ('material.update', 'product.import', 'product.update', 'bom_item.update')
       AND acknowledged = 1 AND sent_hash IS NULL`,
  ),
  resent: statement<[string], Pick<ItemRow, 'id' | 'revision' | 'reason'>>(
    "SELECT id, revision, reason FROM items WHERE state = 'due' AND operation = ? AND uncertain = 1",
  ),
};

/** The names under which the policies and the forms of the last process are stored. */
const POLICIES = 'unconfirmed_policies';
const FORMS = 'present_forms';

/** The reason for a delivery whose last answer shows nothing about the earlier attempt that may have arrived. */
const EARLIER_ATTEMPT: Reason = { code: 'timeout', message: 'An earlier attempt had no clear answer.' };

/**
 * Brings the deliveries in line with a profile that was changed since the last process, before anything is claimed.
 */
export function followProfile(tx: Tx): void {
  const before = readMeta(tx, POLICIES);
  const policies = policiesOf(tx.profile);
  if (JSON.stringify(policies) !== before)
    followPolicies(tx, policies, JSON.parse(before ?? '{}') as Partial<Policies>);
  for (const itemId of SQL.stagedOtherwise[tx.profile.productUpdate](tx).all()) reconcile(tx, itemId);
  followForms(tx);
}

/**
 * I6: a delivery that was to be sent again, although it may have arrived, becomes unconfirmed if the profile does not
 * allow that any more. The delivery keeps its request: if the write is proven to be absent, the same bytes are sent
 * under the same key (I2).
 */
function lookUpResent(tx: Tx, operation: Operation): void {
  for (const { id, revision, reason: text } of SQL.resent(tx).all(operation)) {
    const stored = storedReason(text);
    const reason = stored !== null && mayExplain(stored.code, 'in_doubt') ? stored : EARLIER_ATTEMPT;
    markUnconfirmed(tx, { id, revision, state: 'due' }, { reason, lookAt: tx.clock.now() });
  }
}

function followPolicies(tx: Tx, policies: Policies, before: Partial<Policies>): void {
  for (const operation of OPERATIONS) {
    const policy = policies[operation];
    if (policy !== 'resend' && policy !== before[operation]) lookUpResent(tx, operation);
  }
  writeMeta(tx, POLICIES, JSON.stringify(policies));
}

/** After another change of the profile, an item may be at the platform in the right form already. */
function followForms(tx: Tx): void {
  const present = JSON.stringify(ITEM_KINDS.map((kind) => tx.forms.presentOf(kind)));
  const before = readMeta(tx, FORMS);
  if (before === present) return;
  for (const itemId of before === null ? [] : SQL.sentAgain(tx).all()) reconcile(tx, itemId);
  writeMeta(tx, FORMS, present);
}

type Policies = Record<Operation, UnconfirmedPolicy>;

function policiesOf(profile: Profile): Policies {
  return Object.fromEntries(
    OPERATIONS.map((operation) => [operation, unconfirmedPolicy(operation, profile)]),
  ) as Policies;
}
