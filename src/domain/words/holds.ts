// The words for what holds work back without an error: a read that the guard holds, a list that cannot be read, and imports that
// have not proven themselves.

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
      { text: 'If it is right, accept it, and its rows count', command: ACCEPT },
    ],
  },
  broken: {
    title: 'The export has too few rows, or makes too few items.',
    steps: [
      LOOK,
      { text: 'If it is not whole, write it again', command: 'dpp-sync sync SOURCE' },
      { text: 'If it is right, accept it, and what it lacks counts as missing', command: ACCEPT },
    ],
  },
} as const satisfies Record<string, GuardRow>;

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
