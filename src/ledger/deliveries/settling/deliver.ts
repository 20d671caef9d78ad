import { transition } from '../../../domain/delivery/delivery.ts';
import type { UnprovenCause } from '../../../domain/delivery/evidence.ts';
import { NO_REASON, storedReason } from '../../../domain/delivery/reason.ts';
import type { Decision } from '../../../domain/ports/decision.ts';
import type { ContactEntry } from '../../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../../domain/ports/target.ts';
import type { Restored } from '../../backup/restored.ts';
import type { Adoption } from '../../contact/adoption.ts';
import type { Contact } from '../../contact/contact.ts';
import { acknowledgedContent, gaveIdAway, revisionContent } from '../../items/item-row.ts';
import type { Items } from '../../items/items.ts';
import { presenceOf } from '../../items/known-content.ts';
import type { Release } from '../../items/release.ts';
import type { FormId } from '../../items/wire-forms.ts';
import type { Passports } from '../../passports/passports.ts';
import type { LedgerContext } from '../../store/context.ts';
import type { DeliveryRow } from '../delivery-row.ts';
import type { Requests } from '../requests/requests.ts';
import { showsId } from './shows-id.ts';

/**
 * Stores the effects of a delivery on its item. Call each function inside a transaction. A function that returns a
 * number returns how many deliveries it has released.
 */
export interface Deliver {
  deliver(row: DeliveryRow, decision: Extract<Decision, { kind: 'delivered' }>): number;
  /**
   * Adopts the item of a create that has met an item of the platform. `found` is what the list shows.
   * The revision ends, as it does for any item that was at the platform before.
   */
  adoptFound(row: DeliveryRow, kind: ListableKind, found: readonly ContactEntry[]): number;
  /**
   * Forgets the baseline of a refused update whose earlier attempts have no answer: the API may have either content.
   * The next write has all fields.
   */
  forgetBaseline(row: DeliveryRow): void;
}

interface DeliverParts {
  items: Items;
  requests: Requests;
  passports: Passports;
  restored: Restored;
  adoption: Pick<Adoption, 'resolve'>;
  contact: Pick<Contact, 'metDuplicate'>;
  release: Release;
}

export function createDeliver(
  { db, clock, profile, forms }: Pick<LedgerContext, 'db' | 'clock' | 'profile' | 'forms'>,
  { items, requests, passports, restored, adoption, contact, release }: DeliverParts,
): Deliver {
  const sql = {
    // If a read-back has shown the write, `attempts` is 0: the attempt was counted when the delivery became unconfirmed.
    deliver: db.prepare<[Delivered & Settled]>(
      `UPDATE items SET state = @state, settled_at = @now, due_at = 0, uncertain = 0, reason = NULL, sent = NULL,
         attempts = max(1, attempts + @attempts), acknowledged = @acknowledged, baseline = @baseline,
         baseline_hash = @baselineHash, remote_id = @remoteId, form = @form,
         unproven = coalesce(@unproven, iif(@showsId, NULL, nullif(unproven, 'accepted'))) WHERE id = @id`,
    ),
    reject: db.prepare<[string, number, number]>(
      'UPDATE items SET state = ?, due_at = 0, uncertain = 0, settled_at = ? WHERE id = ?',
    ),
    presence: db.prepare<[string, string, number]>(
      'UPDATE items SET acknowledged = 2, baseline = ?, baseline_hash = ? WHERE id = ?',
    ),
  };

  /**
   * I4: the baseline is what the API has acknowledged. If only the item's presence is known, the baseline has no
   * content.
   */
  function delivered(row: DeliveryRow, contentKnown: boolean): Delivered {
    const sent = revisionContent(row);
    if (!contentKnown) {
      const { baseline, hash } = presenceOf(profile, row.kind, { desired: sent.text, before: null });
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
  function formOf(row: DeliveryRow, { by }: Extract<Decision, { kind: 'delivered' }>): FormId {
    const isByHand = row.sentAt === null || (by === 'person' && row.state !== 'in_doubt');
    return isByHand ? forms.presentOf(row.kind) : row.sentForm;
  }

  /** Stages what is still to be written after an acknowledged write (I4). Returns true if a delivery became due for it. */
  function hasFollower(row: DeliveryRow, { acknowledged }: Delivered): boolean {
    const { kind, id } = row;
    if (kind === 'passport') return passports.follow(id);
    return (acknowledged !== 1 || gaveIdAway(row)) && items.reconcile(id) === 'due';
  }

  return {
    deliver(row, decision) {
      const { id, kind, key } = row;
      const attempts = decision.by === 'answer' ? 1 : 0;
      const isNew = row.remoteId === null;
      const remoteId = decision.remoteId === null ? (row.remoteId ?? 'null') : JSON.stringify(decision.remoteId);
      const known = delivered(row, decision.contentKnown);
      if (decision.by === 'answer' && row.uncertain === 0) restored.wasAbsent(id);
      // The members of an import were already released from their request.
      if (row.operation !== 'product.import') requests.release(row);
      const { unproven = null } = decision;
      const state = transition(row.state, 'accept');
      const form = formOf(row, decision);
      sql.deliver.run({
        ...known,
        id,
        state,
        now: clock.now(),
        attempts,
        remoteId,
        form,
        unproven,
        showsId: showsId(row.operation, decision) ? 1 : 0,
      });
      passports.markDirtyBy([{ id, kind, key, isNew }]);
      const follower = hasFollower(row, known) ? 1 : 0;
      return follower + (isNew ? release.release(kind, key) : 0);
    },

    adoptFound(row, kind, found) {
      requests.release(row);
      sql.reject.run(transition(row.state, 'reject'), clock.now(), row.id);
      const isCompared = contact.metDuplicate({ kind, found, isRefused: isRefusal(row) });
      items.reconcile(row.id, true);
      return isCompared ? 0 : adoption.resolve(row.id, kind);
    },

    forgetBaseline(row) {
      if (row.remoteId === null) return;
      const before = acknowledgedContent(row)?.text ?? null;
      const { baseline, hash } = presenceOf(profile, row.kind, { desired: revisionContent(row).text, before });
      sql.presence.run(baseline, hash, row.id);
    },
  };
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
