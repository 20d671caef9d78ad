import type { KeyMode, Script, Setup } from './script.ts';

const SETUP: Setup = {
  chance: 0,
  halting: false,
  even: false,
  full: true,
  trust: 'publish',
  productUpdate: 'import',
  importAnswer: 'per-row',
  membersMax: 100,
  policy: { init: 'when-complete', publish: 'auto', withdraw: false },
  pageSize: 100,
  incremental: false,
  recheckBlockedMs: 21_600_000,
};

/**
 * Scripts that have once found a breach, or that find a defect which few random scripts reach. Each run plays them all.
 */
export const EXAMPLES: readonly { mode: KeyMode; why: string; script: Script }[] = [
  {
    mode: 'honoured, failures too',
    why: 'A delivery that a person forces is sent under a new key: under the old key the server repeats its failure.',
    script: {
      setup: { ...SETUP, trust: 'honoured' },
      steps: [
        {
          do: 'fault',
          fault: {
            operation: 'product.create',
            count: 1,
            at: 'platform',
            fault: { kind: 'status', status: 500, effect: 'none' },
          },
        },
        { do: 'pull' },
        { do: 'wait', ms: 4000 },
      ],
    },
  },
  {
    mode: 'ignored',
    why: 'An item that was dropped and comes back is not sent under a key that was refused before.',
    script: {
      setup: SETUP,
      steps: [
        {
          do: 'fault',
          fault: { operation: 'bom_item.create', count: 3, at: 'network', fault: { kind: 'front', status: 404 } },
        },
        { do: 'pull' },
        { do: 'wait', ms: 4000 },
        { do: 'edit', row: 5, to: 'excluded' },
        { do: 'pull' },
        { do: 'wait', ms: 1000 },
        { do: 'edit', row: 5, to: 'a' },
      ],
    },
  },
  {
    mode: 'honoured',
    why: 'A refusal proves nothing about an attempt whose answer was lost: a person settles what cannot be read back.',
    script: {
      setup: { ...SETUP, trust: 'honoured' },
      steps: [
        {
          do: 'fault',
          fault: { operation: 'bom_item.create', count: 3, at: 'platform', fault: { kind: 'reset-after' } },
        },
        { do: 'pull' },
        { do: 'wait', ms: 100 },
        {
          do: 'fault',
          fault: { operation: 'bom_item.create', count: 6, at: 'network', fault: { kind: 'front', status: 400 } },
        },
        { do: 'wait', ms: 3000 },
        { do: 'replay', states: ['rejected'] },
      ],
    },
  },
  {
    mode: 'ignored',
    why: 'A write that has timed out may still take effect: the next write is not sent before this is impossible.',
    script: {
      setup: SETUP,
      steps: [
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
        { do: 'edit', row: 3, to: 'b' },
        {
          do: 'fault',
          fault: {
            operation: 'material.update',
            count: 1,
            at: 'network',
            fault: { kind: 'late', lost: 'timeout', ms: 2300 },
          },
        },
        { do: 'pull' },
        { do: 'wait', ms: 1300 },
        { do: 'edit', row: 3, to: 'c' },
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
      ],
    },
  },
  {
    mode: 'honoured',
    why: 'A resend that has to wait for the platform is not superseded: the first copy may have arrived.',
    script: {
      setup: { ...SETUP, trust: 'honoured' },
      steps: [
        {
          do: 'fault',
          fault: { operation: 'bom_item.create', count: 1, at: 'platform', fault: { kind: 'reset-after' } },
        },
        { do: 'edit', row: 6, to: 'absent' },
        { do: 'edit', row: 7, to: 'absent' },
        { do: 'pull' },
        { do: 'wait', ms: 110 },
        {
          do: 'fault',
          fault: { operation: 'bom_item.create', count: 30, at: 'network', fault: { kind: 'front', status: 503 } },
        },
        { do: 'wait', ms: 3000 },
        { do: 'edit', row: 5, to: 'b' },
        { do: 'pull' },
        { do: 'wait', ms: 1000 },
      ],
    },
  },
  {
    mode: 'publish alone',
    why: 'A lost wake-up job for mapping does not look like endless work if nothing is left to map.',
    script: {
      setup: { ...SETUP, chance: 2147483618, halting: true, full: false, membersMax: 2, pageSize: 1 },
      steps: [
        { do: 'edit', row: 2, to: 'c' },
        { do: 'edit', row: 7, to: 'a' },
        { do: 'pull' },
        { do: 'wait', ms: 0 },
        { do: 'wipe' },
      ],
    },
  },
  {
    mode: 'honoured',
    why: 'A row that was gone when the mapping changed does not delay the passports of all products.',
    script: {
      setup: { ...SETUP, full: false, recheckBlockedMs: 15_000 },
      steps: [
        { do: 'edit', row: 5, to: 'a' },
        { do: 'pull' },
        { do: 'wait', ms: 4000 },
        { do: 'fill', to: 'absent' },
        { do: 'remap' },
        { do: 'edit', row: 0, to: 'a' },
        { do: 'pull' },
        { do: 'wait', ms: 300 },
        { do: 'crash', death: { calls: 0, side: 'before' }, downMs: 0 },
      ],
    },
  },
  {
    mode: 'honoured, successes alone',
    why: 'The look-ups after a restore begin soon, even if the clock was set back.',
    script: {
      setup: { ...SETUP, full: false },
      steps: [
        { do: 'fill', to: 'a' },
        { do: 'edit', row: 5, to: 'absent' },
        { do: 'edit', row: 6, to: 'absent' },
        { do: 'edit', row: 7, to: 'absent' },
        { do: 'backup', by: 'command' },
        { do: 'restore', by: 'command' },
        { do: 'pull' },
        { do: 'outage', outage: { of: 'everything', ways: ['refused'], ms: 20_000 } },
        { do: 'clock', byMs: -3_600_000, asleep: true },
      ],
    },
  },
  {
    mode: 'ignored',
    why: 'A delivery that was being sent when the process died is unconfirmed, and is not sent again like a due one.',
    script: {
      setup: SETUP,
      steps: [
        { do: 'pull' },
        { do: 'wait', ms: 40 },
        { do: 'crash', death: { calls: 0, side: 'before' }, downMs: 300 },
      ],
    },
  },
  {
    mode: 'honoured, failures too',
    why: 'A person says that a BOM item had not arrived before the ledger was restored, and the clock is set back.',
    script: {
      setup: { ...SETUP, full: false, recheckBlockedMs: 15_000 },
      steps: [
        { do: 'backup', by: 'command' },
        { do: 'restore', by: 'command' },
        { do: 'edit', row: 0, to: 'a' },
        { do: 'edit', row: 5, to: 'a' },
        { do: 'pull' },
        { do: 'crash', death: { calls: 0, side: 'before' }, downMs: 0 },
        { do: 'clock', byMs: -86_400_000, asleep: false },
        { do: 'wait', ms: 0 },
      ],
    },
  },
  {
    mode: 'ignored',
    why: 'A BOM item that has not arrived, as a person has stated, is sent again when it is replayed.',
    script: {
      setup: SETUP,
      steps: [
        {
          do: 'fault',
          fault: { operation: 'bom_item.create', count: 3, at: 'platform', fault: { kind: 'reset-before' } },
        },
        { do: 'pull' },
        { do: 'wait', ms: 4000 },
        { do: 'person', way: 'settle' },
        { do: 'wait', ms: 1000 },
        { do: 'replay', states: ['rejected'] },
      ],
    },
  },
  {
    mode: 'ignored',
    why: 'If a row is gone before it was mapped, its item is missing like the row.',
    script: {
      setup: { ...SETUP, chance: 15_558_012, halting: true, full: false, recheckBlockedMs: 15_000 },
      steps: [
        { do: 'pull' },
        { do: 'fill', to: 'poison' },
        { do: 'wait', ms: 13 },
        { do: 'pull' },
        { do: 'fill', to: 'absent' },
      ],
    },
  },
  {
    mode: 'honoured',
    why: 'An import of the backup gets no stored answer after a restore: a newer import was acknowledged since.',
    script: {
      setup: SETUP,
      steps: [
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
        { do: 'edit', row: 0, to: 'b' },
        {
          do: 'fault',
          fault: {
            operation: 'product.import',
            count: 1,
            at: 'network',
            fault: { kind: 'late', lost: 'timeout', ms: 700 },
          },
        },
        { do: 'pull' },
        { do: 'wait', ms: 200 },
        { do: 'backup', by: 'command' },
        { do: 'wait', ms: 2000 },
        { do: 'edit', row: 0, to: 'c' },
        { do: 'pull' },
        { do: 'wait', ms: 2000 },
        { do: 'edit', row: 0, to: 'b' },
        { do: 'restore', by: 'command' },
      ],
    },
  },
  {
    mode: 'honoured',
    why: 'An update of the backup is sent in full after a restore: a newer update may have changed other fields since.',
    script: {
      setup: { ...SETUP, trust: 'honoured' },
      steps: [
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
        { do: 'edit', row: 3, to: 'b' },
        {
          do: 'fault',
          fault: {
            operation: 'material.update',
            count: 1,
            at: 'network',
            fault: { kind: 'late', lost: 'timeout', ms: 700 },
          },
        },
        { do: 'pull' },
        { do: 'wait', ms: 200 },
        { do: 'backup', by: 'command' },
        { do: 'wait', ms: 2000 },
        { do: 'edit', row: 3, to: 'c' },
        { do: 'pull' },
        { do: 'wait', ms: 2000 },
        { do: 'edit', row: 3, to: 'b' },
        { do: 'restore', by: 'command' },
      ],
    },
  },
  {
    mode: 'ignored',
    why: 'Rows that were missing at the backup and come back after the restore are written, whatever happened between.',
    script: {
      setup: SETUP,
      steps: [
        { do: 'pull' },
        { do: 'wait', ms: 4000 },
        { do: 'edit', row: 0, to: 'absent' },
        { do: 'edit', row: 3, to: 'excluded' },
        { do: 'pull' },
        { do: 'wait', ms: 1000 },
        { do: 'backup', by: 'command' },
        { do: 'edit', row: 0, to: 'b' },
        { do: 'edit', row: 3, to: 'b' },
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
        { do: 'edit', row: 0, to: 'absent' },
        { do: 'edit', row: 3, to: 'excluded' },
        { do: 'restore', by: 'command' },
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
        { do: 'edit', row: 0, to: 'a' },
        { do: 'edit', row: 3, to: 'a' },
      ],
    },
  },
  {
    mode: 'honoured',
    why: 'A publication of the backup is looked up after a restore: the passport may have been withdrawn since.',
    script: {
      setup: { ...SETUP, trust: 'honoured', policy: { init: 'when-complete', publish: 'auto', withdraw: true } },
      steps: [
        {
          do: 'fault',
          fault: {
            operation: 'passport.publish',
            count: 1,
            at: 'network',
            fault: { kind: 'late', lost: 'timeout', ms: 900 },
          },
        },
        { do: 'pull' },
        { do: 'wait', ms: 1400 },
        { do: 'backup', by: 'command' },
        { do: 'wait', ms: 3000 },
        { do: 'edit', row: 0, to: 'absent' },
        { do: 'edit', row: 1, to: 'absent' },
        { do: 'edit', row: 2, to: 'absent' },
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
        { do: 'fill', to: 'a' },
        { do: 'restore', by: 'command' },
      ],
    },
  },
  {
    mode: 'publish alone',
    why: 'New products that were sent alone are sent again under the same keys, even if imports are used by then.',
    script: {
      setup: { ...SETUP, chance: 15_838, full: false, creates: 'proven' },
      steps: [
        {
          do: 'fault',
          fault: { operation: 'product.create', count: 3, at: 'platform', fault: { kind: 'reset-before' } },
        },
        { do: 'edit', row: 0, to: 'a' },
        { do: 'pull' },
        { do: 'wait', ms: 60 },
        { do: 'edit', row: 1, to: 'a' },
        { do: 'pull' },
        { do: 'wait', ms: 60 },
        { do: 'edit', row: 2, to: 'a' },
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
      ],
    },
  },
  {
    mode: 'honoured, failures too',
    why: 'An answer about a BOM item of another part is not believed.',
    script: {
      setup: { ...SETUP, chance: 23_757 },
      steps: [
        { do: 'fault', fault: { operation: 'bom_item.create', count: 1, at: 'platform', fault: { kind: 'crossed' } } },
        { do: 'edit', row: 6, to: 'absent' },
        { do: 'pull' },
        { do: 'wait', ms: 2000 },
      ],
    },
  },
  {
    mode: 'honoured, failures too',
    why: 'An answer for one BOM item gave its id to another one. The first one is delivered once a person says that it arrived.',
    script: {
      setup: { ...SETUP, chance: 110_866 },
      steps: [
        { do: 'fault', fault: { operation: 'bom_item.create', count: 1, at: 'platform', fault: { kind: 'crossed' } } },
        { do: 'edit', row: 5, to: 'moved' },
        { do: 'edit', row: 7, to: 'moved' },
        { do: 'pull' },
        { do: 'wait', ms: 2000 },
      ],
    },
  },
  {
    mode: 'publish alone',
    why: 'After two restores a passport that was withdrawn since the backup counts as published. Nothing else differs.',
    script: {
      setup: { ...SETUP, policy: { init: 'when-complete', publish: 'auto', withdraw: true } },
      steps: [
        { do: 'pull' },
        { do: 'wait', ms: 4000 },
        { do: 'backup', by: 'command' },
        { do: 'fill', to: 'excluded' },
        { do: 'pull' },
        { do: 'wait', ms: 3000 },
        { do: 'restore', by: 'command' },
        { do: 'fill', to: 'a' },
        { do: 'pull' },
        { do: 'wait', ms: 0 },
        { do: 'backup', by: 'command' },
        { do: 'restore', by: 'command' },
      ],
    },
  },
  {
    mode: 'ignored',
    why: 'The answer to an earlier import of the same product cannot be recognised as wrong. The platform gives no such answer.',
    script: {
      setup: { ...SETUP, full: false },
      steps: [
        { do: 'edit', row: 0, to: 'a' },
        { do: 'pull' },
        { do: 'wait', ms: 300 },
        { do: 'edit', row: 0, to: 'b' },
        { do: 'pull' },
        { do: 'wait', ms: 300 },
        { do: 'fault', fault: { operation: 'product.import', count: 1, at: 'platform', fault: { kind: 'crossed' } } },
        { do: 'edit', row: 0, to: 'poison' },
        { do: 'pull' },
        { do: 'wait', ms: 300 },
      ],
    },
  },
  {
    mode: 'ignored',
    why: "A person's decision changes nothing if the row has changed just before it, in the same commit.",
    script: {
      setup: { ...SETUP, full: false },
      steps: [
        { do: 'edit', row: 0, to: 'poison' },
        { do: 'pull' },
        { do: 'wait', ms: 2000 },
        {
          do: 'change at',
          point: { names: ['settle'], calls: 0, side: 'last in the same commit' },
          steps: [{ do: 'edit', row: 0, to: 'a' }, { do: 'pull' }],
        },
        { do: 'person', way: 'ignore' },
        { do: 'wait', ms: 1000 },
      ],
    },
  },
  {
    mode: 'honoured, successes alone',
    why: 'The look-up of imported products whose answer was lost does not wait for a day if the clock was set back by a day.',
    script: {
      setup: { ...SETUP, creates: 'proven', recheckBlockedMs: 15_000 },
      steps: [
        { do: 'pull' },
        { do: 'crash', death: { calls: 3, side: 'after' }, downMs: 0 },
        { do: 'fill', to: 'a' },
        { do: 'pull' },
        { do: 'outage', outage: { of: 'everything', ways: ['reset before', 'reset after'], ms: 4000 } },
        { do: 'clock', byMs: -86_400_000, asleep: false },
      ],
    },
  },
];
