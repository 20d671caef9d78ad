// The words for the states of deliveries and passports, and for items that their source no longer has.
import type { SubjectKind } from '../item.ts';
import type { Words } from './word.ts';

const NO_ANSWER = 'sent, no answer yet';
const WITH_ERROR = 'with an error, not sent';
const GONE_OR_NOT = 'If the row should be there, correct the export: the next sync reads the row.';

/** The states of a delivery, in the order of its life. */
export const STATES = {
  waiting: {
    title: 'The write waits for another item.',
    meaning: 'The item refers to an item that the platform does not have yet.',
    cure: 'dpp-sync sends the write once that item is delivered. To leave this one out: `dpp-sync settle --ignore KEY`.',
  },
  due: {
    title: 'The write is due.',
    meaning: 'dpp-sync sends it next.',
    cure: 'Nothing: the daemon or the next sync sends it. `dpp-sync check` shows whether the API accepts the key.',
  },
  sending: {
    title: 'The write is being sent.',
    meaning: 'The request is in flight.',
    cure: 'Nothing: dpp-sync is sending it.',
  },
  in_doubt: {
    title: 'The write was sent and has no answer yet.',
    meaning: 'Nothing has confirmed that it arrived.',
    cure: 'If the API has a list of such items, dpp-sync looks the write up. Otherwise look at the platform. If the write is there, record it as delivered. If it is not there: `dpp-sync settle --rejected KEY`. `dpp-sync replay --force --key KEY` sends the write again.',
    command: 'dpp-sync settle --delivered KEY',
    guide: 'operations.md#an-item-has-no-answer-yet',
  },
  delivered: {
    title: 'The write is delivered.',
    meaning: 'The platform has it as it is wanted.',
    cure: 'Nothing: the platform has it as the source has it.',
  },
  blocked: {
    title: 'The write is blocked.',
    meaning: 'A business rule of the platform refuses the write, or a person has to decide.',
    cure: 'Correct the cause in the source or the mapping: the next sync sends the write. If the cause is at the platform, correct it there, then send the write again. If a person has made the change at the platform by hand: `dpp-sync settle --delivered KEY`. To leave the platform as it is: `dpp-sync settle --ignore KEY`.',
    command: 'dpp-sync replay --key KEY',
  },
  rejected: {
    title: 'The write is rejected.',
    meaning: 'The platform does not accept this data.',
    cure: 'Correct the row in the source, or the mapping: the next sync sends the write again. Or send it as it is now. To leave the platform as it is: `dpp-sync settle --ignore KEY`.',
    command: 'dpp-sync replay --key KEY',
  },
  parked: {
    title: 'The write was tried too often.',
    meaning: 'It was tried as often as `retry.attemptsMax` allows.',
    cure: 'Look at the reason, and see whether the platform works. Then send the write again. If a person has made the change at the platform by hand: `dpp-sync settle --delivered KEY`.',
    command: 'dpp-sync replay --key KEY',
  },
  superseded: {
    title: 'A person has ended the write.',
    meaning: 'The platform stays as it is until the row of the item changes.',
    cure: 'Nothing: dpp-sync sends the item again when its row changes. The command sends it now.',
    command: 'dpp-sync replay --key KEY',
  },
} as const satisfies Record<string, Words>;

/** The states of a delivery for which other words are right if its item is a passport. */
export const PASSPORT_WRITES: Partial<Record<keyof typeof STATES, Words>> = {
  waiting: { ...STATES.waiting, meaning: 'The product of the passport is not delivered yet.' },
  delivered: { ...STATES.delivered, cure: 'Nothing: the platform has the passport as it is wanted.' },
  superseded: {
    ...STATES.superseded,
    meaning: 'The passport stays as it is until a person asks for it.',
    cure: 'Nothing, if the passport may stay as it is. The command publishes it.',
    command: 'dpp-sync publish SKU',
  },
};

/** The states of a passport, in the order in which people want to read them. */
export const PASSPORTS = {
  published: 'Everybody can see the passport.',
  initialized: 'The passport is prepared at the platform, and not public.',
  unpublished: 'The passport is withdrawn. Only a person or its source publishes it.',
  incomplete: 'The product is not complete.',
  blocked: 'The passport needs a person.',
  none: 'There is no passport.',
} as const satisfies Record<string, string>;

/** The words for a source whose last run has failed. */
export const FAILED_RUN = {
  title: 'The last run of SOURCE failed.',
  cure: 'Correct the cause that the message names, then read the source again.',
  command: 'dpp-sync sync SOURCE',
} as const satisfies Words;

/** The words for items that no row of their source makes any more. */
export const GONE = {
  never_arrived: {
    title: 'The source no longer has the item.',
    meaning: 'The platform never got it.',
    cure: `${GONE_OR_NOT} If it is rightly gone, nothing has to be done: the platform never got the item.`,
  },
  decided: {
    title: 'The source no longer has the item.',
    meaning: 'Nothing has to be decided any more. The platform keeps the item, since no write of the API deletes it.',
    cure: `${GONE_OR_NOT} If it is rightly gone, nothing has to be done.`,
  },
  kept: {
    title: 'The source no longer has the item.',
    meaning:
      'The platform keeps it, since no write of the API deletes it. If a passport must not show it, remove it there by hand.',
    cure: `${GONE_OR_NOT} If it is rightly gone, accept that.`,
    command: 'dpp-sync settle --ignore KEY',
  },
  public: {
    title: 'The source no longer has the item.',
    meaning: 'The platform keeps it, since no write of the API deletes it, and its passport is public.',
    cure: `${GONE_OR_NOT} If it is rightly gone, one command is enough: \`dpp-sync settle --ignore KEY\` leaves its passport public. \`onMissing: unpublish\` withdraws such passports by itself. The command withdraws this one.`,
    command: 'dpp-sync unpublish SKU',
  },
  released: {
    title: 'No row makes the item any more.',
    meaning: 'The guard has not decided whether the item is missing. Until then it counts as present.',
    cure: 'Look why the guard holds the items of the source, and decide about that read.',
    command: 'dpp-sync status',
    guide: 'operations.md#a-guard-holds-a-run',
  },
  guarded: {
    title: 'The guard holds a read of the source.',
    meaning: 'This change may come from that read.',
    cure: 'Decide about that read first. `dpp-sync status` shows why the guard holds it, and what to do.',
    command: 'dpp-sync status',
    guide: 'operations.md#a-guard-holds-a-run',
  },
} as const satisfies Record<string, Words>;

// Names of kinds and states in messages.

/** The word for a kind in a text, such as `product` or `BOM item`. */
export function kindWord(kind: SubjectKind): string {
  return kind === 'bom_item' ? 'BOM item' : kind;
}

/**
 * The names of states that people do not read as their codes. Documents for programs, filters and addresses have the codes. Each name
 * fits behind "is" and "are".
 */
const STATE_NAMES: Readonly<Record<string, string>> = {
  in_doubt: NO_ANSWER,
  unconfirmed: NO_ANSWER,
  parked: 'given up',
  // The state of an item whose write has ended. A write that ends because of a newer one is an event.
  superseded: 'left as it is',
  initialized: 'prepared, not public',
  guarded: 'held by the guard',
  held: 'held for approval',
  api: 'platform',
  quarantine: WITH_ERROR,
  quarantined: WITH_ERROR,
};

/** The word for an event of a history in a text. */
export function eventWord(event: string): string {
  if (event === 'suspect') return NO_ANSWER;
  return event === 'superseded' ? 'replaced by a newer change' : stateWord(event);
}

/** The word for a state in a text. */
export function stateWord(state: string): string {
  return STATE_NAMES[state] ?? state.replaceAll('_', ' ');
}

/** The states of items in the order in which people want to read them. */
export const STATES_IN_ORDER: readonly (keyof typeof STATES)[] = [
  'delivered',
  'superseded',
  'due',
  'sending',
  'waiting',
  'in_doubt',
  'blocked',
  'rejected',
  'parked',
];
