// The words for what holds work back without an error: a read that the guard holds, a list that cannot be read, and imports that
// have not proven themselves.

import { REASONS } from './reasons.ts';
import type { Words } from './word.ts';

/** A step that a person can take, as the beginning of a sentence, and its command. `SOURCE` stands for the id of the source. */
export interface Step {
  text: string;
  command: string;
}

interface GuardRow {
  title: string;
  /** The last step is the only one that accepts the read. */
  steps: readonly [Step, ...Step[]];
}

const LOOK = { text: 'Look at the export', command: 'dpp-sync preview SOURCE' };
const ACCEPT = 'dpp-sync sync --accept SOURCE';
/** A stream that the config no longer has gives no export that could be refused. */
const REFUSE = {
  text: 'If it is wrong and no better one comes soon, refuse it, and what was there stays',
  command: 'dpp-sync refuse SOURCE',
};

/** The reads that the guard holds. */
export const GUARD = {
  left: {
    title: 'The config no longer has the stream.',
    steps: [
      {
        text: 'If the stream has another name now, or was removed by mistake, correct the config',
        command: 'dpp-sync check',
      },
      { text: 'If the stream has ended, accept that its records are missing', command: ACCEPT },
    ],
  },
  older: {
    title: 'The export is older than the one that was read before.',
    steps: [
      LOOK,
      { text: 'If it was put back by mistake, bring a newer file', command: 'dpp-sync sync SOURCE' },
      REFUSE,
      { text: 'If it is right, accept it, and its rows count', command: ACCEPT },
    ],
  },
  broken: {
    title: 'The export has too few rows, or makes too few items.',
    steps: [
      LOOK,
      { text: 'If it is not whole, write it again', command: 'dpp-sync sync SOURCE' },
      REFUSE,
      { text: 'If it is right, accept it, and what it lacks counts as missing', command: ACCEPT },
    ],
  },
} as const satisfies Record<string, GuardRow>;

/** A row that the read lacks which the guard holds. `refuse` is said where the read can be refused. */
export const LOST_ROW = {
  cure: `If the row should be there, correct the export. If it is gone, accept the read: \`${ACCEPT}\`.`,
  refuse: `To keep the row as it is, refuse the read: \`${REFUSE.command}\`.`,
} as const;

/** The words for a run that would do more than `approve` allows. */
export const HELD_RUN = {
  title: 'A run of SOURCE would do more than is allowed.',
  meaning: 'It is held whole: none of its rows is stored, and nothing of it is sent.',
  steps: [
    { text: 'See what it would do', command: 'dpp-sync plan SOURCE' },
    { text: 'If it is right, approve it', command: ACCEPT },
    { text: 'If it is wrong, correct the export or the mapping, and read it again', command: 'dpp-sync sync SOURCE' },
    {
      text: 'If nobody is to be asked until a run would do something else, refuse it',
      command: 'dpp-sync refuse SOURCE',
    },
  ],
  guide: 'approvals.md',
} as const satisfies Pick<Words, 'title' | 'meaning' | 'guide'> & { steps: readonly [Step, ...Step[]] };

/** The title of a read that the guard holds. The words in capitals stand for its values. */
export const GUARD_TITLES = {
  left: 'The config no longer has PLACE. Its records were kept.',
  older: 'The export of PLACE is older than the one that was read before. It was not read.',
  released: 'The rows of PLACE no longer make ITEMS. This is treated as a fault, and nothing was removed.',
  broken: 'The export of PLACE has only ROWS and lacks MISSING. It is treated as broken, and nothing was removed.',
} as const satisfies Record<string, string>;

/** Items that rows name and that no row gives. `ITEMS` stands for their kind. */
export const MISSING_PARTS = {
  title: 'ITEMS that rows name are in no file.',
  meaning:
    'BOM items name them, and no row that was read makes them. So these BOM items are not sent, and the passports of their products wait.',
  /** More items wait than are looked at. `COUNT` stands for how many are looked at. */
  meaningOfMany: 'Only the COUNT oldest of the waiting items were looked at, so there may be more.',
  cure: 'Add the missing rows to the source that has such items, or correct the rows that name them.',
  command: 'dpp-sync sync SOURCE',
} as const satisfies Words & { meaningOfMany: string };
/** The same while sources that may have the missing rows were not read completely yet. `SOURCES` stands for them. */
export const MISSING_PARTS_UNREAD = {
  title: 'ITEMS that rows name are in no file that was read.',
  cure: 'Read SOURCES first: it may have the missing rows, and was not read completely yet.',
  cureOfSeveral: 'Read SOURCES first: they may have the missing rows, and were not read completely yet.',
} as const;

/** Why the API takes no requests, or refuses some. */
export const API_TROUBLES = {
  unreachable: {
    title: 'The platform does not answer.',
    meaning: 'Nothing is lost: everything stays due, and dpp-sync asks again at intervals.',
    cure: 'See whether the platform works, and whether this machine reaches it.',
    command: 'dpp-sync check',
    guide: 'operations.md#the-platform-is-away',
  },
  throttled: {
    title: 'The platform has asked to wait (429).',
    meaning: 'Everything stays due.',
    cure: 'Nothing: dpp-sync sends again by itself when the wait is over.',
    command: 'dpp-sync status',
  },
  denied_key: REASONS.denied_key,
  denied_plan: REASONS.denied_plan,
  denied_scope: REASONS.denied_scope,
} as const satisfies Record<string, Words>;

/** Why no item of a kind is created before its list was read. */
export const UNREAD_LIST = {
  refused: {
    title: 'The key may not read a list of the platform.',
    cure: 'Use a key that may read this list, such as one with the scope read.',
  },
  unreadable: {
    title: 'The answers of a list of the platform cannot be used.',
    cure: 'Correct the cause, such as the profile. If the platform has none of your items, set `target.firstContact: assume-empty`.',
  },
} as const satisfies Record<string, Words>;

/** Why bulk imports are not used. */
export const UNUSED_IMPORTS = {
  creates: {
    title: 'New products are sent one by one and not in bulk imports.',
    cure: 'To use no imports for new products, set `imports.creates: off` in the profile.',
  },
  changes: {
    title: 'Changed products are not sent.',
    cure: 'If the import of the platform updates no products, set `productUpdate: none` in the profile. If it updates them now, run `dpp-sync replay`.',
  },
  refused: {
    title: 'New products are sent one by one.',
    cure: 'If the key may not use the bulk import, set `imports.creates: off` in the profile, and `productUpdate: none` for changed products.',
  },
} as const satisfies Record<string, Words>;
