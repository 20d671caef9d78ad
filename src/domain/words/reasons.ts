// The reasons of deliveries: one row for each code, with the states that it may explain, its traits and its words. A new
// code is a new row. All rules that depend on a code are in its row; `delivery/stored-reason.ts` reads them.

import type { STATES } from './states.ts';
import type { Words } from './word.ts';

/** The traits that a code of a reason can have. Decisions depend on them. */
export type ReasonTrait =
  /** The unconfirmed delivery may not simply be sent again: the list has to be read. */
  | 'needs_reading'
  /** An item that is then found at the platform may differ from the content of this write. */
  | 'content_unknown'
  /** A create was refused because the item exists, or may exist. An item that is found then is adopted. */
  | 'found_before'
  /** It is not known whether the item exists, although the create was refused. */
  | 'may_exist'
  /** The answer named another item: the item may be at the platform under a key that was not sent. */
  | 'of_another_item'
  /** The write may have been sent since the backup that the ledger was restored from. */
  | 'since_backup'
  /** The API was not able to accept the delivery. */
  | 'api_away'
  /** The reason keeps the time since which the API has not been able to accept the delivery. */
  | 'keeps_away_since'
  /** The API is still working on an earlier send. */
  | 'api_busy'
  /** The API refuses the key, the plan or the scope, and not this item. */
  | 'access_denied'
  /** The API refused the scope, which may be about the key or about this item. */
  | 'scope_denied'
  /** The API refuses the scope for this item, while it grants the scope to other items. */
  | 'item_forbidden'
  /** A blocked delivery is sent again after `recheckBlockedMs`. */
  | 'asked_again'
  /** A person has to accept the change of an adopted item. */
  | 'adopted_change'
  /** A person has to say whether the BOM items of an adopted product exist. */
  | 'parts_unknown'
  /** The answer to an import has not shown that the product was made, and the import may make it later. */
  | 'may_come_late'
  /** A person has to say which of several items at the platform this one is. */
  | 'ambiguous_key'
  /** An import made a second product. Only a person may ask for another import. */
  | 'made_second'
  /** Each run of the source looks the item up again, because a person may have corrected the platform. */
  | 'looked_up_by_runs'
  /** If a person asks for another import of this change, imports of changes are proven again. */
  | 'needs_proof'
  /** Nothing shows that a create with this code has made an item, or that another item is in its place. */
  | 'made_nothing'
  /** The row of the item, or its mapping, may be at fault, so that correcting it helps. */
  | 'row_at_fault'
  /** The API has answered with a success that proves too little. Where no list can be read, the answer is all there is. */
  | 'was_answered';

/** What to do with an unconfirmed delivery that is proven to be absent from the platform. */
export type WhenAbsent = 'resend' | 'reject' | 'reject_as_hidden' | 'block' | 'ask_person';

/** The states in which a code can be written. */
type WrittenState = Exclude<keyof typeof STATES, 'waiting' | 'sending' | 'delivered'>;

export interface ReasonRow extends Words {
  states: readonly WrittenState[];
  /** Null for a code that no unconfirmed delivery carries. */
  whenAbsent: WhenAbsent | 'by_status' | null;
  traits: readonly ReasonTrait[];
}

type Rules = Omit<ReasonRow, keyof Words>;

/** A code that no unconfirmed delivery carries. */
function settled(states: readonly WrittenState[], ...traits: readonly ReasonTrait[]): Rules {
  return { states, whenAbsent: null, traits };
}

/** A code of unconfirmed deliveries. `others` are the other states in which it can be written. */
function unconfirmed(
  whenAbsent: WhenAbsent | 'by_status',
  others: readonly WrittenState[],
  ...traits: readonly ReasonTrait[]
): Rules {
  return { states: ['in_doubt', ...others], whenAbsent, traits };
}

/** The further states of codes that a delivery keeps when it is sent again or when its retry limit is reached. */
const RESENT: readonly WrittenState[] = ['due', 'parked'];

const BY_ITSELF = { cure: 'Nothing: dpp-sync sends it again by itself.' };
const LOOKED_UP = {
  meaning: 'The write may have taken effect.',
  cure: 'dpp-sync looks the write up or sends it again by itself, if it can. If it cannot, look at the platform. If the write is there, record it as delivered. If it is not there: `dpp-sync settle --rejected KEY`.',
  command: 'dpp-sync settle --delivered KEY',
  guide: 'operations.md#an-item-has-no-answer-yet',
};
/** For a write that only a person can find at the platform. */
const SETTLE = { command: LOOKED_UP.command, guide: LOOKED_UP.guide };
const NAME_ID = 'dpp-sync settle --delivered --id ID KEY';
const REPLAY = 'dpp-sync replay --key KEY';

/** Every code that a delivery, a refused scope or a failed listing can carry. The codes are stable: people filter by them. */
export const REASONS = {
  // Codes of a delivery that the API has not accepted and that is sent again.
  throttled: {
    ...settled(['due'], 'keeps_away_since', 'made_nothing'),
    title: 'The platform has asked to wait (429).',
    ...BY_ITSELF,
  },
  local: {
    ...settled(['due'], 'keeps_away_since', 'made_nothing'),
    title: 'This machine could not send the request.',
    cure: 'Raise the limit that the command names.',
    command: 'dpp-sync status',
  },
  denied_key: {
    ...settled(['due'], 'access_denied', 'made_nothing'),
    title: 'The platform refuses the key (401).',
    meaning:
      'The platform does not know the key: it was replaced, was revoked, or has ended. Nothing was changed there.',
    cure: 'Replace the key. Then dpp-sync sends all due deliveries.',
    command: 'dpp-sync check',
    guide: 'operations.md#the-key-was-revoked',
  },
  denied_plan: {
    ...settled(['due'], 'access_denied', 'made_nothing'),
    title: 'The platform refuses the plan (402).',
    meaning: 'The plan of the account has ended, or does not have this request. Nothing was changed there.',
    cure: 'Activate the plan. Then dpp-sync sends all due deliveries.',
    command: 'dpp-sync check',
  },
  denied_scope: {
    ...settled(['due'], 'access_denied', 'scope_denied', 'made_nothing'),
    title: 'The platform refuses a scope of the key (403).',
    meaning: 'The platform knows the key, and does not allow it this kind of request. Nothing was changed there.',
    cure: 'Grant the scope, or use another key. Then dpp-sync sends all due deliveries.',
    command: 'dpp-sync check',
    guide: 'operations.md#a-scope-is-refused',
  },
  unavailable: {
    ...unconfirmed('resend', RESENT, 'api_away', 'keeps_away_since', 'made_nothing'),
    title: 'The platform was not able to process the request (503).',
    ...BY_ITSELF,
  },
  in_flight: {
    ...unconfirmed('resend', RESENT, 'api_busy'),
    title: 'The platform is still working on an earlier send.',
    ...BY_ITSELF,
  },
  untouched: {
    ...settled(['due'], 'made_nothing'),
    title: 'The import was refused because of other products.',
    ...BY_ITSELF,
  },
  guarded: {
    ...settled(['due'], 'made_nothing'),
    title: 'The item is new, and the guard has not decided about its stream.',
    cure: 'Nothing, while the source is read. If the command shows a read that the guard holds, write the whole export again, or accept that read.',
    command: 'dpp-sync status',
    guide: 'operations.md#a-guard-holds-a-run',
  },

  // Codes of a delivery for which it is unknown whether the write took effect.
  reset: { ...unconfirmed('resend', RESENT), title: 'The connection broke before the answer.', ...LOOKED_UP },
  timeout: { ...unconfirmed('resend', RESENT), title: 'The platform did not answer in time.', ...LOOKED_UP },
  server_error: {
    ...unconfirmed('resend', RESENT),
    title: 'The platform answered with an error of its own (5xx).',
    ...LOOKED_UP,
  },
  unreadable_answer: {
    ...unconfirmed('resend', RESENT),
    title: 'The answer cannot be read: it was cut, or was a page of a proxy.',
    ...LOOKED_UP,
  },
  crossed: {
    ...unconfirmed('ask_person', RESENT, 'of_another_item'),
    title: 'The answer was about another item.',
    cure: 'Look at the platform, and record whether the write arrived. Look for a proxy that caches answers.',
    ...SETTLE,
  },
  crash: {
    ...unconfirmed('resend', RESENT),
    title: 'The process ended while the request was in flight.',
    ...LOOKED_UP,
  },
  unechoed: {
    ...unconfirmed('resend', RESENT, 'needs_reading', 'was_answered'),
    title: 'The answer did not repeat what was sent.',
    meaning: 'It was a success that may belong to another request. Or it named the item and stated a problem.',
    cure: 'Nothing at first: dpp-sync reads the list once, when the other writes of the run are done. If no list can show the item, look at the platform, and record whether the write arrived.',
    ...SETTLE,
  },
  pending: {
    ...unconfirmed('ask_person', [], 'needs_reading', 'was_answered'),
    title: 'The answer did not say that the passport is changed.',
    meaning: 'It did not say that the passport is public, or is withdrawn. The platform may have queued the request.',
    cure: 'Wait: dpp-sync reads the publications twice, and once in the next run. If the word in the answer means that the passport is public, add it to `publications.publicStates` in the profile. If the publications cannot be read, see `answers.withoutProof`.',
    command: 'dpp-sync settle --delivered KEY',
  },
  conflict: {
    ...unconfirmed('block', RESENT, 'needs_reading', 'was_answered'),
    title: 'The platform has refused a step of the passport (409).',
    meaning: 'Its words do not say whether the step is done.',
    cure: 'Wait: dpp-sync reads the publications once. If they do not show the passport as public, its publication is blocked. An initialisation is sent once more, and a second 409 means that the passport exists.',
  },
  unclear: {
    ...unconfirmed('resend', RESENT, 'needs_reading', 'may_come_late'),
    title: 'The answer to an import does not name this product.',
    meaning: 'The platform may still make the product.',
    cure: 'Wait for the next runs: each run looks for the product. If you know the time that an import may take, set `imports.settlesWithinMs` in the profile.',
  },
  /** An import of new products that has to prove that the platform keeps exactly one product for each of its members. */
  import_proof: {
    ...unconfirmed('resend', RESENT, 'needs_reading', 'may_come_late'),
    title: 'An import of new products has to prove itself.',
    meaning:
      'Imports of this size, or with such an answer, have to prove themselves first. A list of the platform has to show this product exactly once.',
    cure: 'Nothing, while the command reports progress. If the platform has made two products, remove the second one.',
    command: 'dpp-sync status',
  },
  /** An import that has to prove that the platform updates products, and keeps exactly one for each of its members. */
  change_proof: {
    ...unconfirmed('resend', RESENT, 'needs_reading', 'was_answered'),
    title: 'An import of changed products has to prove itself.',
    meaning:
      'Imports of this size, or with such an answer, have to prove first that the platform updates products. A list of the platform has to show this product exactly once.',
    cure: 'Nothing, while the command reports progress. If the list of products cannot be read: allow the key to read it, or set `answers.withoutProof: accept` in the profile if the answers are enough.',
    command: 'dpp-sync status',
  },
  import_refused: {
    ...unconfirmed('resend', RESENT, 'needs_reading', 'content_unknown'),
    title: 'The import was refused, and the answer does not name the product at fault.',
    cure: 'Nothing: the product is looked up and sent again in a smaller import.',
  },
  import_exists: {
    ...unconfirmed('resend', RESENT, 'needs_reading', 'content_unknown', 'found_before'),
    title: 'The import was refused because one of its products exists.',
    cure: 'Nothing: the product is looked up, and adopted if it exists.',
  },
  restored: {
    ...unconfirmed('resend', ['due'], 'needs_reading', 'content_unknown', 'since_backup'),
    title: 'The write may have been sent since the backup.',
    cure: 'Nothing for products and materials. For BOM items, look at the platform, and record whether the write arrived.',
    ...SETTLE,
  },
  shared_id: {
    ...unconfirmed('ask_person', [...RESENT, 'blocked'], 'needs_reading', 'content_unknown', 'of_another_item'),
    title: 'The answer gave an id that another item has.',
    cure: 'Find the item that has the id at the platform, and name it.',
    command: NAME_ID,
  },
  /** A list shows the new item several times. A person has to remove all but one. */
  made_twice: {
    ...unconfirmed('ask_person', RESENT, 'needs_reading', 'looked_up_by_runs'),
    title: 'The platform has made the item several times.',
    cure: 'Remove all but one at the platform: the next run finds the one that is left. Or name the right one.',
    command: NAME_ID,
  },

  // Codes of a delivery that the API has refused.
  exists: {
    ...unconfirmed('reject_as_hidden', [...RESENT, 'rejected'], 'needs_reading', 'content_unknown', 'found_before'),
    title: 'The item exists at the platform already.',
    meaning: 'The platform says so, and no list shows the item.',
    cure: 'Look for it at the platform: another organisation or an archived item may have the SKU or the code. Then send the item again, or settle it: `dpp-sync settle --delivered --id ID KEY`.',
    command: REPLAY,
  },
  may_exist: {
    ...unconfirmed('by_status', [], 'needs_reading', 'content_unknown', 'found_before', 'may_exist'),
    title: 'A create was refused, and it is not known yet whether the item exists.',
    cure: 'Nothing: the list is read first.',
  },
  gate: {
    ...unconfirmed('block', ['blocked'], 'needs_reading', 'asked_again', 'made_nothing', 'row_at_fault'),
    title: 'A business rule of the platform refuses the write.',
    meaning:
      'The platform has understood the write and does not allow it as things are now (409), such as a publication without a review. Nothing was changed there.',
    cure: 'Fulfil the rule, in the source, in the mapping or at the platform. Then send the write again, or wait: dpp-sync sends it again by itself after some hours. If a person has made the change at the platform by hand: `dpp-sync settle --delivered KEY`. If the change is not wanted any more: `dpp-sync settle --ignore KEY`.',
    command: REPLAY,
    guide: 'operations.md#publish-failed',
  },
  forbidden: {
    ...unconfirmed('resend', [...RESENT, 'blocked'], 'item_forbidden', 'asked_again', 'made_nothing'),
    title: 'The platform refuses this item (403), and accepts others.',
    meaning:
      'The platform knows the key, and does not allow it to change this item: the item may be locked there, or belong to somebody else. Nothing was changed. The row is not at fault.',
    cure: 'Look at the rights of the item at the platform. Then send the write again, or wait: dpp-sync sends it again by itself after some hours.',
    command: REPLAY,
  },
  /** The delivery is due again if its import was refused as a whole. The members are then sent in smaller imports. */
  refused: {
    ...unconfirmed('reject', ['due', 'rejected'], 'needs_reading', 'made_nothing', 'row_at_fault'),
    title: 'The platform refused the content.',
    meaning:
      'The platform has read the data and does not accept a value of it (400 or 422). Nothing was changed there.',
    cure: 'Correct the row, the mapping or a lookup table: the next sync sends the item again. To send it as it is now: `dpp-sync replay --key KEY`. To leave the platform as it is: `dpp-sync settle --ignore KEY`.',
    command: 'dpp-sync sync SOURCE',
  },

  // Codes of a delivery that is blocked because the API has no such write or a person has to decide.
  unsupported: {
    ...settled(['blocked'], 'made_nothing'),
    title: 'The API has no request for this write.',
    cure: 'Make the change at the platform by hand, and record that you have made it. To leave the platform as it is: `dpp-sync settle --ignore KEY`.',
    command: 'dpp-sync settle --delivered KEY',
  },
  renamed: {
    ...settled(['blocked'], 'row_at_fault'),
    title: 'The SKU has changed, and an import would make a second product.',
    cure: 'Change the SKU at the platform by hand, and record that you have changed it. Or take the change back in the source.',
    command: 'dpp-sync settle --delivered KEY',
  },
  not_upserted: {
    ...settled(['blocked'], 'made_second', 'needs_proof'),
    title: 'The import made a second product, because it does not update products.',
    cure: 'Remove the second product. Set `productUpdate: none` in the profile, then send the item again.',
    command: REPLAY,
  },
  import_unproven: {
    ...settled(['blocked'], 'needs_proof'),
    title: 'Imports of changed products have not proven that they update products.',
    cure: '`dpp-sync status` says why. Set `productUpdate: none` in the profile, then send the item again. If the platform updates products by SKU now, send it again as it is.',
    command: REPLAY,
  },
  adopted: {
    ...settled(['blocked'], 'adopted_change'),
    title: 'A person has to accept a change of an adopted item.',
    cure: 'Compare the values of the source and of the platform, then accept the changes of the source, or correct the source.',
    command: 'dpp-sync sync --accept SOURCE',
  },
  adopted_bom: {
    ...settled(['blocked'], 'parts_unknown'),
    title: 'A person has to say whether the BOM items exist at the platform.',
    cure: 'Look at the platform, and record whether the BOM items of the product are there, or are not: `dpp-sync settle --bom absent SKU`.',
    command: 'dpp-sync settle --bom present SKU',
  },
  ambiguous_key: {
    ...settled(['blocked'], 'ambiguous_key'),
    title: 'Several items at the platform have this natural key.',
    cure: 'Name the right item.',
    command: NAME_ID,
  },

  // Codes of a delivery that the retry limit, a defect or a person has ended.
  exhausted: {
    ...unconfirmed('resend', ['parked']),
    title: 'The API did not accept the write, and the retry limit is reached.',
    cure: 'See whether the platform works, then send the write again. If a person has made the change at the platform by hand: `dpp-sync settle --delivered KEY`.',
    command: REPLAY,
  },
  internal: {
    ...unconfirmed('resend', ['rejected'], 'made_nothing'),
    title: 'An error in dpp-sync stopped the write.',
    cure: 'Report it with the log, then send the write again.',
    command: REPLAY,
  },
  person: {
    ...settled(['rejected'], 'made_nothing'),
    title: 'A person has reported that the write did not arrive.',
    cure: 'Nothing, if a change of the row will send it. The command sends it now.',
    command: REPLAY,
  },
  ignored: {
    ...settled(['superseded']),
    title: 'A person has decided that the platform stays as it is.',
    cure: 'Nothing: a change of the row sends the write. The command sends it now.',
    command: REPLAY,
  },

  /** No delivery carries this code. */
  unlisted: {
    ...settled([]),
    title: 'A list of the platform cannot be read to its end, so no item of this kind is created.',
    cure: 'Correct the cause that the message names. Then dpp-sync reads the list again.',
    command: 'dpp-sync status',
    guide: 'operations.md#before-the-first-item-is-created',
  },
  /** Stands for a reason that was not stored, or that another release has stored. */
  unknown: { ...settled([]), title: 'The reason is not known.', cure: 'Read the message of the delivery.' },
} as const satisfies Record<string, ReasonRow>;
