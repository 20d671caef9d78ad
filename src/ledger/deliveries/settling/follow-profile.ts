import { OPERATIONS, type Operation } from '../../../domain/delivery/operation.ts';
import { mayExplain, type Reason, storedReason } from '../../../domain/delivery/reason.ts';
import { type UnconfirmedPolicy, unconfirmedPolicy } from '../../../domain/delivery/unconfirmed-policy.ts';
import { ITEM_KINDS } from '../../../domain/item.ts';
import type { Profile } from '../../../domain/profile.ts';
import type { ItemRow } from '../../items/item-row.ts';
import type { Items } from '../../items/items.ts';
import type { LedgerContext } from '../../store/context.ts';
import { createMeta } from '../../store/meta.ts';
import { isStuck } from '../delivery-states.ts';

/** For each value of `productUpdate`: the items whose change was staged under another value, and is not in flight. */
const STAGED_OTHERWISE: Record<Profile['productUpdate'], string> = {
  import: `SELECT id FROM items WHERE ${isStuck('items')}
    AND state = 'blocked' AND operation = 'product.update'`,
  none: `SELECT id FROM items WHERE state = 'due' AND operation = 'product.import' AND uncertain = 0
    UNION ALL SELECT id FROM items WHERE ${isStuck('items')}
    AND state = 'rejected' AND operation = 'product.import'`,
};

/**
 * The items that a person wanted to have sent again in the form of the profile: their content is at the API, and they
 * have an open delivery.
 */
const SENT_AGAIN = `SELECT id FROM items WHERE state = 'due' AND operation IN ('material.update', 'product.import')
    AND acknowledged = 1 AND sent_hash IS NULL
    UNION ALL SELECT id FROM items WHERE ${isStuck('items')}
    AND operation IN ('material.update', 'product.import', 'product.update', 'bom_item.update')
    AND acknowledged = 1 AND sent_hash IS NULL`;

/** The names under which the policies and the forms of the last process are stored. */
const POLICIES = 'unconfirmed_policies';
const FORMS = 'present_forms';

/** The reason for a delivery whose last answer shows nothing about the earlier attempt that may have arrived. */
const EARLIER_ATTEMPT: Reason = { code: 'timeout', message: 'An earlier attempt had no clear answer.' };

/**
 * Brings the deliveries in line with a profile that was changed since the last process. Call it inside a transaction,
 * before anything is claimed.
 */
export function createFollowProfile(
  { db, clock, profile, forms }: Pick<LedgerContext, 'db' | 'clock' | 'profile' | 'forms'>,
  items: Pick<Items, 'reconcile' | 'markUnconfirmed'>,
): () => void {
  const meta = createMeta(db);
  const stagedOtherwise = db.prepare<[], number>(STAGED_OTHERWISE[profile.productUpdate]).pluck();
  const sentAgain = db.prepare<[], number>(SENT_AGAIN).pluck();
  const resent = db.prepare<[string], Pick<ItemRow, 'id' | 'revision' | 'reason'>>(
    "SELECT id, revision, reason FROM items WHERE state = 'due' AND operation = ? AND uncertain = 1",
  );

  /**
   * I6: a delivery that was to be sent again, although it may have arrived, becomes unconfirmed if the profile does not
   * allow that any more. The delivery keeps its request: if the write is proven to be absent, the same bytes are sent
   * under the same key (I2).
   */
  function lookUpResent(operation: Operation): void {
    for (const { id, revision, reason: text } of resent.all(operation)) {
      const stored = storedReason(text);
      const reason = stored !== null && mayExplain(stored.code, 'in_doubt') ? stored : EARLIER_ATTEMPT;
      items.markUnconfirmed({ id, revision, state: 'due' }, { reason, lookAt: clock.now() });
    }
  }

  function followPolicies(policies: Policies, before: Partial<Policies>): void {
    for (const operation of OPERATIONS) {
      const policy = policies[operation];
      if (policy !== 'resend' && policy !== before[operation]) lookUpResent(operation);
    }
    meta.set(POLICIES, JSON.stringify(policies));
  }

  /** After another change of the profile, an item may be at the platform in the right form already. */
  function followForms(): void {
    const present = JSON.stringify(ITEM_KINDS.map((kind) => forms.presentOf(kind)));
    const before = meta.get(FORMS);
    if (before === present) return;
    for (const itemId of before === null ? [] : sentAgain.all()) items.reconcile(itemId);
    meta.set(FORMS, present);
  }

  return () => {
    const before = meta.get(POLICIES);
    const policies = policiesOf(profile);
    if (JSON.stringify(policies) !== before) followPolicies(policies, JSON.parse(before ?? '{}') as Partial<Policies>);
    for (const itemId of stagedOtherwise.all()) items.reconcile(itemId);
    followForms();
  };
}

type Policies = Record<Operation, UnconfirmedPolicy>;

function policiesOf(profile: Profile): Policies {
  return Object.fromEntries(
    OPERATIONS.map((operation) => [operation, unconfirmedPolicy(operation, profile)]),
  ) as Policies;
}
