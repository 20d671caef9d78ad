// Deliveries that become due again without a person: refusals of business rules, writes that a list may show now, and deliveries
// that another profile changes.

import { OPERATIONS, type Operation } from '../../domain/delivery/operation.ts';
import { mayExplain, NO_REASON, type Reason, storedReason } from '../../domain/delivery/reason.ts';
import { type UnconfirmedPolicy, unconfirmedPolicy } from '../../domain/delivery/unconfirmed-policy.ts';
import { ITEM_KINDS, type SubjectKind } from '../../domain/item.ts';
import type { Profile } from '../../domain/profile.ts';
import { type ItemRow, isStuck, reasonHas } from '../items/item-row.ts';
import { reconcile } from '../items/reconcile.ts';
import { markUnconfirmed } from '../items/revisions.ts';
import { sendPassportAgain } from '../passports/passports.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

interface BlockedRow {
  id: number;
  revision: number;
  kind: SubjectKind;
}

type Revision = Pick<BlockedRow, 'id' | 'revision'>;

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
     WHERE state = 'blocked' AND due_at > 0 AND due_at <= ? ORDER BY due_at LIMIT ?`,
  ),
  postpone: statement<[number, number]>('UPDATE items SET due_at = ? WHERE id = ?'),
  // Finds a row if the revision before this superseded one had the same content and was refused as well.
  repeats: statement<[Revision], { found: 1 }>(
    `SELECT 1 AS found FROM history h JOIN history p ON p.item_id = h.item_id AND p.revision =
       (SELECT max(revision) FROM history WHERE item_id = h.item_id AND revision < h.revision)
     WHERE h.item_id = @id AND h.revision = @revision AND h.state = 'superseded' AND p.state = 'superseded'
       AND p.operation = h.operation AND p.desired_hash = h.desired_hash
       AND ${reasonHas('p', 'asked_again')}`,
  ),
  forgetEvents: statement<[Revision]>('DELETE FROM events WHERE item_id = @id AND revision = @revision'),
  forget: statement<[Revision]>('DELETE FROM history WHERE item_id = @id AND revision = @revision'),
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
  refused: statement<[string], { id: number; revision: number; reason: string }>(
    `SELECT i.id, i.revision, i.reason FROM items i
     WHERE ${isStuck('i')} AND i.state = 'rejected' AND i.reason ->> '$.lookAgain' = 1 AND i.source = +?`,
  ),
  // No list shows a BOM item, so only the profile can end its wait.
  left: statement<[{ now: number; source: string; takesAnswers: 0 | 1 }]>(
    `UPDATE items AS i SET due_at = @now
     WHERE ${isStuck('i')} AND i.state = 'in_doubt' AND i.due_at = 0 AND i.source = +@source
       AND ((i.operation = 'product.create' AND i.request_place IS NOT NULL)
         OR ((i.operation <> 'bom_item.create' OR @takesAnswers = 1) AND ${reasonHas('i', 'was_answered')})
         OR ${reasonHas('i', 'looked_up_by_runs')})`,
  ),
};

/**
 * Sends blocked deliveries again when their time has come. Each is sent as a new revision with a new key, because a
 * server that honours keys would repeat its refusal for the old key.
 */
export function recheckBlocked(tx: Tx, { limit }: { limit: number }): { staged: number; more: boolean } {
  if (tx.profile.recheckBlockedMs === 0) return { staged: 0, more: false };
  const rows = SQL.blocked(tx).all(tx.clock.now(), limit);
  return { staged: rows.filter((row) => askAgain(tx, row)).length, more: rows.length === limit };
}

function askAgain(tx: Tx, { id, revision, kind }: BlockedRow): boolean {
  const staged = kind === 'passport' ? sendPassportAgain(tx, id) : reconcile(tx, id, true) !== null;
  if (!staged) {
    SQL.postpone(tx).run(tx.clock.now() + INCOMPLETE_MS, id);
    return false;
  }
  // I9: if a business rule refuses for years, only the first and the last refusal are kept.
  if (SQL.repeats(tx).get({ id, revision })) {
    SQL.forgetEvents(tx).run({ id, revision });
    SQL.forget(tx).run({ id, revision });
  }
  return true;
}

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

/**
 * Makes writes of a source due for another look-up if no list has shown them, because a list may show them now. These
 * are refused creates whose item a lagging list did not show, new products that an import may have made late, writes whose
 * answers proved too little, and new items that the platform has made several times. Sends nothing. A run begins with it.
 */
export function lookUpRefusedCreates(tx: Tx, source: string): void {
  const takesAnswers = tx.profile.answers.withoutProof === 'accept' ? 1 : 0;
  SQL.left(tx).run({ now: tx.clock.now(), source, takesAnswers });
  for (const { id, revision, reason } of SQL.refused(tx).all(source)) {
    markUnconfirmed(
      tx,
      { id, revision, state: 'rejected' },
      { reason: storedReason(reason) ?? NO_REASON, lookAt: tx.clock.now() },
    );
  }
}
