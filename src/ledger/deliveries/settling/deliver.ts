// Stores the effects of a delivery on its item. A number that is returned says how many deliveries were released.

import { transition } from '../../../domain/delivery/delivery.ts';
import type { UnprovenCause } from '../../../domain/delivery/evidence.ts';
import { NO_REASON, storedReason } from '../../../domain/delivery/reason.ts';
import type { Decision } from '../../../domain/ports/decision.ts';
import type { ContactEntry } from '../../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../../domain/ports/target.ts';
import { markAbsent } from '../../backup/restored.ts';
import { adoptListed } from '../../contact/adoption.ts';
import { noteDuplicate } from '../../contact/contact.ts';
import { acknowledgedContent, gaveIdAway, revisionContent } from '../../items/item-row.ts';
import { presenceOf } from '../../items/known-content.ts';
import { reconcile } from '../../items/reconcile.ts';
import { releaseWaitingFor } from '../../items/release.ts';
import type { FormId } from '../../items/wire-forms.ts';
import { markPassportsDirtyBy } from '../../passports/passport-items.ts';
import { followPassport } from '../../passports/passports.ts';
import { statement } from '../../store/statement.ts';
import type { Tx } from '../../store/tx.ts';
import type { DeliveryRow } from '../delivery-row.ts';
import { leaveRequest } from '../requests/requests.ts';
import { showsId } from './shows-id.ts';

const SQL = {
  // If a read-back has shown the write, `attempts` is 0: the attempt was counted when the delivery became unconfirmed.
  deliver: statement<[Delivered & Settled]>(
    `UPDATE items SET state = @state, settled_at = @now, due_at = 0, uncertain = 0, reason = NULL, sent = NULL,
       attempts = max(1, attempts + @attempts), acknowledged = @acknowledged, baseline = @baseline,
       baseline_hash = @baselineHash, remote_id = @remoteId, form = @form,
       unproven = coalesce(@unproven, iif(@showsId, NULL, nullif(unproven, 'accepted'))) WHERE id = @id`,
  ),
  reject: statement<[string, number, number]>(
    'UPDATE items SET state = ?, due_at = 0, uncertain = 0, settled_at = ? WHERE id = ?',
  ),
  presence: statement<[string, string, number]>(
    'UPDATE items SET acknowledged = 2, baseline = ?, baseline_hash = ? WHERE id = ?',
  ),
};

export function deliver(tx: Tx, row: DeliveryRow, decision: Extract<Decision, { kind: 'delivered' }>): number {
  const { id, kind, key } = row;
  const attempts = decision.by === 'answer' ? 1 : 0;
  const isNew = row.remoteId === null;
  const remoteId = decision.remoteId === null ? (row.remoteId ?? 'null') : JSON.stringify(decision.remoteId);
  const known = delivered(tx, row, decision.contentKnown);
  if (decision.by === 'answer' && row.uncertain === 0) markAbsent(tx, id);
  // The members of an import were already released from their request.
  if (row.operation !== 'product.import') leaveRequest(tx, row);
  const { unproven = null } = decision;
  const state = transition(row.state, 'accept');
  const form = formOf(tx, row, decision);
  SQL.deliver(tx).run({
    ...known,
    id,
    state,
    now: tx.clock.now(),
    attempts,
    remoteId,
    form,
    unproven,
    showsId: showsId(row.operation, decision) ? 1 : 0,
  });
  markPassportsDirtyBy(tx, [{ id, kind, key, isNew }]);
  const follower = hasFollower(tx, row, known) ? 1 : 0;
  return follower + (isNew ? releaseWaitingFor(tx, kind, key) : 0);
}

/**
 * Adopts the item of a create that has met an item of the platform. `found` is what the list shows.
 * The revision ends, as it does for any item that was at the platform before.
 */
export function adoptFound(tx: Tx, row: DeliveryRow, kind: ListableKind, found: readonly ContactEntry[]): number {
  leaveRequest(tx, row);
  SQL.reject(tx).run(transition(row.state, 'reject'), tx.clock.now(), row.id);
  const isCompared = noteDuplicate(tx, { kind, found, isRefused: isRefusal(row) });
  reconcile(tx, row.id, true);
  return isCompared ? 0 : adoptListed(tx, row.id, kind);
}

/**
 * Forgets the baseline of a refused update whose earlier attempts have no answer: the API may have either content.
 * The next write has all fields.
 */
export function forgetBaseline(tx: Tx, row: DeliveryRow): void {
  if (row.remoteId === null) return;
  const before = acknowledgedContent(row)?.text ?? null;
  const { baseline, hash } = presenceOf(tx.profile, row.kind, { desired: revisionContent(row).text, before });
  SQL.presence(tx).run(baseline, hash, row.id);
}

/**
 * I4: the baseline is what the API has acknowledged. If only the item's presence is known, the baseline has no
 * content.
 */
function delivered(tx: Tx, row: DeliveryRow, contentKnown: boolean): Delivered {
  const sent = revisionContent(row);
  if (!contentKnown) {
    const { baseline, hash } = presenceOf(tx.profile, row.kind, { desired: sent.text, before: null });
    return { acknowledged: 2, baseline, baselineHash: hash };
  }
  const isDesired = row.kind !== 'passport' && row.sentHash === null;
  if (isDesired) return { acknowledged: 1, baseline: null, baselineHash: null };
  return { acknowledged: 2, baseline: sent.text, baselineHash: sent.hash };
}

/**
 * The form in which the API now has the item. A person who has made a write by hand, instead of one that was never
 * sent or that the API has refused, has made it as the platform needs it.
 */
function formOf(tx: Tx, row: DeliveryRow, { by }: Extract<Decision, { kind: 'delivered' }>): FormId {
  const isByHand = row.sentAt === null || (by === 'person' && row.state !== 'in_doubt');
  return isByHand ? tx.forms.presentOf(row.kind) : row.sentForm;
}

/** Stages what is still to be written after an acknowledged write (I4). Returns true if a delivery became due for it. */
function hasFollower(tx: Tx, row: DeliveryRow, { acknowledged }: Delivered): boolean {
  const { kind, id } = row;
  if (kind === 'passport') return followPassport(tx, id);
  return (acknowledged !== 1 || gaveIdAway(row)) && reconcile(tx, id) === 'due';
}

/** True if the platform has refused the create. An import, or an answer of success, shows nothing about other creates. */
function isRefusal({ reason }: DeliveryRow): boolean {
  const { code, status = 0 } = storedReason(reason) ?? NO_REASON;
  return code !== 'import_exists' && status >= 400;
}

/** The other columns of a delivery that has ended. */
interface Settled {
  id: number;
  state: string;
  now: number;
  attempts: 0 | 1;
  remoteId: string;
  form: FormId;
  unproven: UnprovenCause | null;
  /** 0 keeps the cause for which the id was taken without proof. */
  showsId: 0 | 1;
}

/** The columns of what the API has acknowledged. */
interface Delivered {
  acknowledged: 1 | 2;
  baseline: string | null;
  baselineHash: string | null;
}
