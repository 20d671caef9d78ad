import { adoptedReason } from '../../domain/adoption.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import { difference, type Renamed } from '../../domain/delivery/reconcile.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import { nextStep, type PassportDesire, type PassportStatus } from '../../domain/passport.ts';
import type { Profile } from '../../domain/profile.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { JsonObject } from '../../lib/json.ts';
import { statusText } from '../passports/passport-items.ts';
import { parseJson } from '../store/context.ts';
import { acknowledgedContent, type Content, type ItemRow, isOpenState, revisionContent } from './item-row.ts';
import type { WrittenForms } from './wire-forms.ts';

/** The write that would bring the desired payload to the API, and the baseline after it. */
export interface WantedWrite {
  operation: Operation;
  desired: string;
  desiredHash: string;
  /** True if a person has asked for this write. */
  byHand: boolean;
}

/** What an item needs: a write, nothing, or a person. */
export type Wanted =
  | { need: 'none' }
  | ({ need: 'write' } & WantedWrite)
  | ({ need: 'blocked'; reason: Reason } & WantedWrite);

/**
 * The difference between the desired payload and the baseline (I4), as the write that removes it.
 *
 * @param asked true if a person asks now to send the item in the present form, even if its content is at the API
 */
export function wantedOf(
  item: ItemRow,
  { profile, forms }: { profile: Profile; forms: Pick<WrittenForms, 'isPresent'> },
  asked = false,
): Wanted {
  const { kind, key, desired, desiredHash } = item;
  const baseline = acknowledgedContent(item);
  if (kind === 'passport') return passportDifference(desired, baseline);
  const baselineHash = baseline?.hash ?? null;
  const renamed = kind === 'product' && baselineHash !== desiredHash ? renamedOf(item, baseline, profile) : null;
  const sendsForm = baselineHash === desiredHash && isInOtherForm(item, forms) && (asked || sendsAgain(item));
  const wanted = difference({ kind, key, desiredHash, baselineHash, renamed, sendsForm }, profile);
  if (wanted.need === 'none') return wanted;
  const write = { ...wanted, desired, desiredHash, byHand: false };
  if (wanted.need === 'blocked' || item.adopted === 0) return write;
  const reason = adoptedReason(
    item.source,
    parseJson<JsonObject>(desired),
    parseJson<JsonObject>(baseline?.text ?? '{}'),
  );
  return { ...write, need: 'blocked', reason };
}

/** True if the API has acknowledged the item in a form in which it is not sent any more. */
export function isInOtherForm(
  { kind, acknowledged, form }: Pick<ItemRow, 'kind' | 'acknowledged' | 'form'>,
  forms: Pick<WrittenForms, 'isPresent'>,
): boolean {
  return acknowledged > 0 && !forms.isPresent(kind, form);
}

/** True if the open delivery sends content that is at the API already: a person has asked for the present form. */
function sendsAgain(item: ItemRow): boolean {
  return isOpenState(item.state) && revisionContent(item).hash === acknowledgedContent(item)?.hash;
}

/** The item's natural keys at the API and in the source; null if they are the same. */
function renamedOf({ naturalKey }: ItemRow, baseline: Content | null, profile: Profile): Renamed | null {
  const known = baseline === null ? null : naturalKeyOf(profile, 'product', parseJson<JsonObject>(baseline.text));
  return known === null || known.value === naturalKey ? null : { from: known.value, to: naturalKey };
}

/** A passport changes step by step: each delivery leads to one status. */
function passportDifference(desired: string, baseline: Content | null): Wanted {
  const { status: from = null } = parseJson<{ status?: PassportStatus }>(baseline?.text ?? '{}');
  const { status, because } = parseJson<PassportDesire>(desired);
  const step = nextStep(from, status);
  if (step === null) return { need: 'none' };
  const text = statusText(step.status);
  const byHand = because === 'person';
  return { need: 'write', operation: step.operation, desired: text, desiredHash: sha256Url(text), byHand };
}
