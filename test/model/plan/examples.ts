import type { ScriptName } from './generated-nights.ts';
import type { Edit, Night, Script, Setup } from './night.ts';
import type { BoundedScript } from './play-approvals.ts';

const SETUP: Setup = {
  passports: 'published',
  onMissing: 'unpublish',
  guard: '100%',
  changesOnly: false,
  hasLog: false,
  idempotency: 'publish',
  productUpdate: 'import',
  creates: 'off',
  importAnswer: 'per-row',
  gates: 'none',
  recheckBlockedMs: 0,
  there: { products: [], materials: [] },
};
/** Runs that few generated scripts have. */
export const APPROVAL_EXAMPLES: readonly BoundedScript[] = [
  {
    setup: { ...SETUP, idempotency: 'honoured' },
    bounded: { erp: { creates: 0 } },
    nights: [{ edits: [], decision: { how: 'approve later', row: 0 } }],
  },
];

const PUMP = { name: 'Pump', country: 'DE', note: '' };
const NIGHT: Night = { edits: [], acts: [], trouble: [], turn: { how: 'sync' } };
const unnamed = (id: string): Edit => ({ part: 'materials', id, row: { name: '', recycled: '0.1' } });

/** Scripts that have once found a defect, or that reach a situation which few generated scripts reach. Each run plays them all. */
export const PLAN_EXAMPLES: readonly { of: ScriptName; why: string; script: Script }[] = [
  {
    of: 'odd',
    why: 'A plan is applied without the former form of an item that an interrupted sync has left due.',
    script: {
      setup: SETUP,
      nights: [
        { ...NIGHT, turn: { how: 'stopped', events: 2 } },
        {
          ...NIGHT,
          edits: [{ part: 'products', id: 'P1', row: { sku: 'SKU-P1', ...PUMP } }],
          turn: { how: 'apply' },
        },
      ],
    },
  },
  {
    of: 'odd',
    why: 'A BOM item whose answer was lost stays unconfirmed, and a source whose rows are all wrong is not read.',
    script: {
      setup: SETUP,
      nights: [
        { ...NIGHT, trouble: [{ operation: 'bom_item.create', what: 'loses the answer', count: 1 }] },
        { ...NIGHT, edits: [{ part: 'products', id: 'P4', row: null }], turn: { how: 'apply' } },
        { ...NIGHT, edits: ['M1', 'M2', 'M3'].map(unnamed) },
      ],
    },
  },
  {
    of: 'calm',
    why: 'A tombstone withdraws a passport, also after the log has forgotten where it was read, and a row publishes it again.',
    script: {
      setup: { ...SETUP, hasLog: true },
      nights: [
        NIGHT,
        { ...NIGHT, edits: [{ part: 'products', id: 'P4', row: null }] },
        {
          ...NIGHT,
          acts: [{ do: 'forget' }],
          edits: [
            { part: 'products', id: 'P3', row: null },
            { part: 'products', id: 'P4', row: { sku: 'SKU-P4', ...PUMP } },
          ],
          turn: { how: 'apply' },
        },
      ],
    },
  },
  {
    of: 'restored',
    why: 'After a restore each item is written in full, and a passport that was withdrawn since is withdrawn again.',
    script: {
      setup: SETUP,
      nights: [
        NIGHT,
        {
          ...NIGHT,
          acts: [{ do: 'back up' }],
          edits: [{ part: 'products', id: 'P4', row: null }],
        },
        { ...NIGHT, acts: [{ do: 'restore' }] },
      ],
    },
  },
];
