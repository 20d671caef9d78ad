// What a person can do about an item. Each command that a text names is accepted for an item of this kind and state. KEY is
// last in a command, because `--` may be needed before it.

import type { Reason, ReasonCode } from '../../domain/delivery/reason.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-views.ts';

const ITEM_STEPS: Record<ItemState, string> = {
  delivered: 'Nothing: the platform has the item as the source has it.',
  superseded:
    'Nothing: a person has ended this write. dpp-sync sends the item again when its row changes. To send it now: `dpp-sync replay --key KEY`.',
  due: 'Nothing: the daemon or the next sync sends the item, unless the API refuses the key. `dpp-sync check` shows whether the API accepts the key.',
  sending: 'Nothing: dpp-sync is sending the item.',
  waiting:
    'dpp-sync sends the item once the items that it refers to are delivered. To leave this item out, run `dpp-sync settle --ignore KEY`.',
  in_doubt:
    'If the API has a list of such items, dpp-sync looks the write up. Otherwise look at the platform, then run `dpp-sync settle --delivered KEY` or `dpp-sync settle --rejected KEY`. `dpp-sync replay --force --key KEY` sends the write again.',
  blocked:
    'Correct the cause in the source or the mapping, then run `dpp-sync sync`. If the cause is at the platform, correct it there, then run `dpp-sync replay --key KEY`. If a person has written the item at the platform by hand, run `dpp-sync settle --delivered KEY`. To leave the platform as it is, run `dpp-sync settle --ignore KEY`.',
  rejected:
    'Correct the row in the source, or the mapping: the next sync sends the item again. Or run `dpp-sync replay --key KEY`. To leave the platform as it is, run `dpp-sync settle --ignore KEY`.',
  parked:
    'Look at the reason, then run `dpp-sync replay --key KEY`. If a person has written the item at the platform by hand, run `dpp-sync settle --delivered KEY`.',
};

const NOT_WANTED = 'If the passport is not wanted any more, run `dpp-sync unpublish KEY`.';

/** A passport has the key of its product, so a command for the passport names its kind. */
const PASSPORT_STEPS: Record<ItemState, string> = {
  ...ITEM_STEPS,
  delivered: 'Nothing: the platform has the passport as it is wanted.',
  superseded: 'Nothing: a person has ended this write. To publish the passport: `dpp-sync publish KEY`.',
  waiting: `Once the product is delivered, dpp-sync sends the write. ${NOT_WANTED}`,
  in_doubt:
    'If the API has a list of publications, dpp-sync looks the write up. Otherwise look at the platform, then run `dpp-sync settle --kind passport --delivered KEY` or `dpp-sync settle --kind passport --rejected KEY`. `dpp-sync replay --force --key KEY` sends the write again.',
  blocked: `Correct the cause in the source or the mapping, then run \`dpp-sync sync\`. If the cause is at the platform, correct it there, then run \`dpp-sync replay --key KEY\`. If a person has made the change at the platform by hand, run \`dpp-sync settle --kind passport --delivered KEY\`. ${NOT_WANTED}`,
  rejected: `Correct the row in the source, or the mapping: the next sync sends the write again. Or run \`dpp-sync replay --key KEY\`. ${NOT_WANTED}`,
  parked: `Look at the reason, then run \`dpp-sync replay --key KEY\`. If a person has made the change at the platform by hand, run \`dpp-sync settle --kind passport --delivered KEY\`. ${NOT_WANTED}`,
};

const KEY_STEP = 'Correct the key or its rights: `dpp-sync check` shows them. Then dpp-sync sends all due deliveries.';

/** The next step of a person, for the reasons of blocked items, and of due items that need a person. */
const REASON_STEPS: Readonly<Partial<Record<ReasonCode, string>>> = {
  adopted:
    'Compare the values of the source and of the platform, then accept the changes with `dpp-sync sync --accept SOURCE`, or correct the source.',
  adopted_bom:
    'Look at the platform, then run `dpp-sync settle --bom present SKU` or `dpp-sync settle --bom absent SKU`.',
  unsupported:
    'Make the change at the platform by hand, then run `dpp-sync settle --delivered KEY`. To leave the platform as it is, run `dpp-sync settle --ignore KEY`.',
  ambiguous_key: 'Name the right item with `dpp-sync settle --delivered --id ID KEY`.',
  denied_key: KEY_STEP,
  denied_plan: KEY_STEP,
  denied_scope: KEY_STEP,
};

/** The next step of a person for an item of this kind, state and reason. */
export function nextStepOf({
  kind,
  state,
  reason,
}: {
  kind: SubjectKind;
  state: ItemState;
  reason: Pick<Reason, 'code'> | null;
}): string {
  const ofReason = (state === 'blocked' || state === 'due') && reason !== null ? REASON_STEPS[reason.code] : undefined;
  return ofReason ?? (kind === 'passport' ? PASSPORT_STEPS : ITEM_STEPS)[state];
}
