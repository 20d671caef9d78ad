// Deliveries that become due again without a person: refusals of business rules, writes that a list may show now, and deliveries
// that another profile changes.

import {
  OPERATIONS,
  type Operation,
  type UnconfirmedPolicy,
  unconfirmedPolicy,
} from '../../domain/delivery/operation.ts';
import { mayExplain, NO_REASON, type Reason, storedReason } from '../../domain/delivery/stored-reason.ts';
import { ITEM_KINDS, type SubjectKind } from '../../domain/item.ts';
import type { Profile } from '../../domain/profile.ts';
import { type ItemRow, idsOf, isStuck, reasonHas } from '../items/item-row.ts';
import { numberIn, setDueAt } from '../items/item-writes.ts';
import { reconcileAll } from '../items/reconcile.ts';
import { markUnconfirmed } from '../items/revisions.ts';
import { sendPassportsAgain } from '../passports/passports.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, statement, type Tx } from '../store/tx.ts';

interface BlockedRow {
  id: number;
  revision: number;
  kind: SubjectKind;
}

/** A passport whose product is not complete is checked again after this time. */
const INCOMPLETE_MS = 3_600_000;

/** The names under which the policies and the forms of the last process are stored. */
const POLICIES = 'unconfirmed_policies';
const FORMS = 'present_forms';

/** The reason for a delivery whose last answer shows nothing about the earlier attempt that may have arrived. */
const EARLIER_ATTEMPT: Reason = { code: 'timeout', message: 'An earlier attempt had no clear answer.' };

const SQL = {
  blocked: statement<[number, number], BlockedRow>(
    `SELECT id, revision, kind FROM items
     WHERE state = 'blocked' AND due_at > 0 AND due_at <= ? ORDER BY due_at, id LIMIT ?`,
  ),
  // Finds a revision if the one before this superseded one had the same content and was refused for the same reason.
  repeats: statement<[string], { id: number; revision: number }>(
    `SELECT h.item_id AS id, h.revision FROM json_each(?) l
     CROSS JOIN history h ON h.item_id = ${numberIn('l', 0)} AND h.revision = ${numberIn('l', 1)}
     JOIN history p ON p.item_id = h.item_id AND p.revision =
       (SELECT max(revision) FROM history WHERE item_id = h.item_id AND revision < h.revision)
     WHERE h.state = 'superseded' AND p.state = 'superseded' AND p.operation = h.operation
       AND p.desired_hash = h.desired_hash AND p.reason ->> '$.shape' = h.reason ->> '$.shape' AND ${reasonHas('p', 'asked_again')}`,
  ),
  forgetEvents: statement<[string]>(
    `DELETE FROM events WHERE id IN (SELECT e.id FROM json_each(?) l
       CROSS JOIN events e ON e.item_id = ${numberIn('l', 0)} AND e.revision = ${numberIn('l', 1)})`,
  ),
  forget: statement<[string]>(
    `DELETE FROM history WHERE (item_id, revision) IN (SELECT ${numberIn('l', 0)}, ${numberIn('l', 1)} FROM json_each(?) l)`,
  ),
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
    "SELECT id, revision, reason FROM items WHERE state = 'due' AND operation = ? AND uncertain = 1 ORDER BY id",
  ),
  refused: statement<[string], { id: number; revision: number; reason: string }>(
    `SELECT i.id, i.revision, i.reason FROM items i
     WHERE ${isStuck('i')} AND i.state = 'rejected' AND CAST(i.reason ->> '$.lookAgain' AS INTEGER) = 1 AND +i.source = ? ORDER BY i.id`,
  ),
  // No list shows a BOM item, so only the profile can end its wait.
  left: column<[{ source: string; takesAnswers: 0 | 1 }], number>(
    `SELECT i.id FROM items i
     WHERE ${isStuck('i')} AND i.state = 'in_doubt' AND i.due_at = 0 AND +i.source = @source
       AND ((i.operation = 'product.create' AND i.request_place IS NOT NULL)
         OR ((i.operation <> 'bom_item.create' OR @takesAnswers = 1) AND ${reasonHas('i', 'was_answered')})
         OR ${reasonHas('i', 'looked_up_by_runs')})
     ORDER BY i.id`,
  ),
};

/**
 * Sends blocked deliveries again when their time has come. Each is sent as a new revision with a new key, because a
 * server that honours keys would repeat its refusal for the old key.
 */
export function recheckBlocked(tx: Tx, { limit }: { limit: number }): { staged: number; more: boolean } {
  if (tx.profile.recheckBlockedMs === 0) return { staged: 0, more: false };
  const rows = SQL.blocked(tx).all(tx.clock.now(), limit);
  const others = rows.filter(({ kind }) => kind !== 'passport');
  const staged = new Set(reconcileAll(tx, idsOf(others), true).keys());
  const passports = rows.flatMap(({ id, kind }) => (kind === 'passport' ? id : []));
  for (const id of sendPassportsAgain(tx, passports)) staged.add(id);
  const left = rows.filter(({ id }) => !staged.has(id));
  setDueAt(tx, idsOf(left), tx.clock.now() + INCOMPLETE_MS);
  forgetRepeats(
    tx,
    rows.filter(({ id }) => staged.has(id)),
  );
  return { staged: staged.size, more: rows.length === limit };
}

/** I9: if a business rule refuses for years, only the first and the last refusal for a reason are kept. */
function forgetRepeats(tx: Tx, refused: readonly BlockedRow[]): void {
  if (refused.length === 0) return;
  const repeats = SQL.repeats(tx).all(JSON.stringify(refused.map(({ id, revision }) => [id, revision])));
  if (repeats.length === 0) return;
  const list = JSON.stringify(repeats.map(({ id, revision }) => [id, revision]));
  SQL.forgetEvents(tx).run(list);
  SQL.forget(tx).run(list);
}

/**
 * Brings the deliveries in line with a profile that was changed since the last process, before anything is claimed.
 */
export function followProfile(tx: Tx): void {
  const before = readMeta(tx, POLICIES);
  const policies = policiesOf(tx.profile);
  if (JSON.stringify(policies) !== before)
    followPolicies(tx, policies, JSON.parse(before ?? '{}') as Partial<Policies>);
  reconcileAll(tx, SQL.stagedOtherwise[tx.profile.productUpdate](tx).all());
  followForms(tx);
}

/**
 * I6: a delivery that was to be sent again, although it may have arrived, becomes unconfirmed if the profile does not
 * allow that any more. The delivery keeps its request: if the write is proven to be absent, the same bytes are sent
 * under the same key (I2).
 */
function lookUpResent(tx: Tx, operation: Operation): void {
  const lookAt = tx.clock.now();
  const rows = SQL.resent(tx).all(operation);
  markUnconfirmed(
    tx,
    rows.map(({ id, revision, reason: text }) => {
      const stored = storedReason(text);
      const reason = stored !== null && mayExplain(stored.code, 'in_doubt') ? stored : EARLIER_ATTEMPT;
      return { id, revision, state: 'due', why: { reason, lookAt } };
    }),
  );
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
  if (before !== null) reconcileAll(tx, SQL.sentAgain(tx).all());
  writeMeta(tx, FORMS, present);
}

type Policies = Record<Operation, UnconfirmedPolicy>;

function policiesOf(profile: Profile): Policies {
  return Object.fromEntries(
    OPERATIONS.map((operation) => [operation, unconfirmedPolicy(operation, profile)]),
  ) as Policies;
}

/**
 * Makes writes of a source due for another look-up if no list has shown them, because a list may show them now. These
 * are refused creates whose item a lagging list did not show, new products that an import may have made late, writes whose
 * answers proved too little, and new items that the platform has made several times. Sends nothing. A run begins with it.
 */
export function lookUpRefusedCreates(tx: Tx, source: string): void {
  const takesAnswers = tx.profile.answers.withoutProof === 'accept' ? 1 : 0;
  const now = tx.clock.now();
  setDueAt(tx, SQL.left(tx).all({ source, takesAnswers }), now);
  markUnconfirmed(
    tx,
    SQL.refused(tx)
      .all(source)
      .map(({ id, revision, reason }) => ({
        id,
        revision,
        state: 'rejected',
        why: { reason: storedReason(reason) ?? NO_REASON, lookAt: now },
      })),
  );
}
