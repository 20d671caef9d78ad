import { describe, expect, it } from 'vitest';
import type { AlertRules } from '../../../src/domain/ports/alerts.ts';
import { type AlertFacts, holdingOf, undecidedOf } from '../../../src/observe/alerts/conditions.ts';

const HOUR = 3_600_000;
const NOW = 1_000 * HOUR;
const RULES: AlertRules = {
  runFailed: true,
  guardHeld: true,
  runHeld: true,
  quarantineAbove: 0,
  rejectedAbove: 2,
  parkedAbove: 2,
  blockedAbove: 2,
  exportEmpty: true,
  failedDeliveries: 0.25,
  nothingSyncedMs: 26 * HOUR,
  keyRefused: true,
  apiDownMs: HOUR / 4,
  backupOldMs: 48 * HOUR,
  configRefused: true,
};
const QUIET = { stuck: {}, isSending: false, isMapping: false };
const WELL: AlertFacts = {
  now: NOW,
  sources: [{ source: 'erp', scheduled: true, quarantined: 0, ...QUIET, completeAt: NOW - HOUR }],
  failedRuns: [],
  guarded: [],
  held: [],
  empty: [],
  deliveries: { delivered: 1, failed: 0, isWhole: true },
  refusal: null,
  apiDownSince: null,
  backup: { lastAt: NOW - HOUR, error: null },
  configErrors: null,
  watchedSince: { erp: 0, '': 0 },
};
const ids = (facts: Partial<AlertFacts>, rules: Partial<AlertRules> = {}) =>
  holdingOf({ ...WELL, ...facts }, { ...RULES, ...rules }).map(({ id }) => id);

describe('the conditions of alerts', () => {
  it('no condition of an alert holds while all is well', () => {
    expect(ids({})).toEqual([]);
  });

  it.each<[string, Partial<AlertFacts>, Partial<AlertRules>, string]>([
    ['a run failed', { failedRuns: [{ source: 'erp', error: 'Gone.' }] }, { runFailed: false }, 'run_failed/erp'],
    [
      'the guard holds an export',
      {
        guarded: [
          {
            source: 'erp',
            stream: 'boms',
            runId: 1,
            since: 0,
            missing: 9,
            read: 1,
            released: 0,
            creates: 0,
            gone: [],
            isLeft: false,
            isOlder: false,
            message: 'Broken.',
          },
        ],
      },
      { guardHeld: false },
      'guard_held/erp/boms',
    ],
    [
      'more records are in quarantine than allowed',
      { sources: [{ source: 'erp', scheduled: true, quarantined: 1, ...QUIET, completeAt: NOW }] },
      { quarantineAbove: 1 },
      'quarantine/erp',
    ],
    ...(['rejected', 'parked', 'blocked'] as const).map(
      (state): [string, Partial<AlertFacts>, Partial<AlertRules>, string] => [
        `more items are ${state} than allowed`,
        {
          sources: [
            {
              source: 'erp',
              scheduled: true,
              quarantined: 0,
              ...QUIET,
              stuck: { [state]: 3 },
              completeAt: NOW,
            },
          ],
        },
        { [`${state}Above`]: 3 },
        `${state}/erp`,
      ],
    ),
    [
      'an export has no rows and the one before had some',
      { empty: [{ source: 'erp', stream: 'boms', isNew: true }] },
      { exportEmpty: false },
      'export_empty/erp/boms',
    ],
    [
      'too large a share of the deliveries fails',
      { deliveries: { delivered: 37, failed: 13, isWhole: false } },
      { failedDeliveries: 0.26 },
      'deliveries_failing',
    ],
    [
      'a source has completed no run for too long',
      { sources: [{ source: 'erp', scheduled: true, quarantined: 0, ...QUIET, completeAt: NOW - 27 * HOUR }] },
      { nothingSyncedMs: 28 * HOUR },
      'nothing_synced/erp',
    ],
    [
      'a source that is watched for long has never completed a run',
      { sources: [{ source: 'erp', scheduled: true, quarantined: 0, ...QUIET, completeAt: null }] },
      { nothingSyncedMs: null },
      'nothing_synced/erp',
    ],
    ['the API refuses the key', { refusal: 'Invalid key.' }, { keyRefused: false }, 'key_refused'],
    ['the API is away for long', { apiDownSince: NOW - HOUR }, { apiDownMs: 2 * HOUR }, 'api_down'],
    [
      'the last backup is old',
      { backup: { lastAt: NOW - 49 * HOUR, error: 'The disk is full.' } },
      { backupOldMs: null },
      'backup_old',
    ],
    ['there never was a backup', { backup: { lastAt: null, error: null } }, { backupOldMs: null }, 'backup_old'],
    ['the config was refused', { configErrors: ['queue: found 1.'] }, { configRefused: false }, 'config_refused'],
  ])('a condition of an alert holds when %s, unless the config says otherwise', (_, facts, rules, id) => {
    expect(ids(facts)).toEqual([id]);
    expect(ids(facts, rules)).toEqual([]);
  });

  it('no condition of an alert holds for a silence that a daemon has just begun to watch', () => {
    const never = [{ source: 'erp', scheduled: true, quarantined: 0, ...QUIET, completeAt: null }];
    expect(ids({ sources: never, watchedSince: { erp: NOW - HOUR } })).toEqual([]);
    expect(ids({ sources: never, watchedSince: {} })).toEqual([]);
    expect(ids({ backup: { lastAt: null, error: null }, watchedSince: { erp: 0, '': NOW } })).toEqual([]);
    expect(ids({ backup: null, watchedSince: {} })).toEqual([]);
  });

  it('no condition of an alert holds for a source that is only run by hand', () => {
    const byHand = [{ source: 'erp', scheduled: false, quarantined: 0, ...QUIET, completeAt: NOW - 999 * HOUR }];
    expect(ids({ sources: byHand })).toEqual([]);
  });

  it('each condition of an alert is described in full sentences with what to do', () => {
    const [one] = holdingOf({ ...WELL, apiDownSince: NOW - HOUR }, RULES);
    expect(one?.message).toBe(
      'The API has accepted no request since 1970-02-11 15:00 UTC. Nothing is lost, and dpp-sync asks the API again at intervals.',
    );
  });
});

describe('an alert that keeps its state', () => {
  const undecided = (facts: Partial<AlertFacts>, rules: Partial<AlertRules> = {}) => [
    ...undecidedOf({ ...WELL, ...facts }, { ...RULES, ...rules }),
  ];

  it('an alert keeps its state that a count decides, while rows of its source wait for their mapping', () => {
    const mapping = { source: 'erp', scheduled: true, quarantined: 0, ...QUIET, isMapping: true, completeAt: NOW };
    const others = { ...mapping, source: 'pim', isMapping: false };
    expect(undecided({ sources: [mapping, others] })).toEqual([
      'quarantine/erp',
      'rejected/erp',
      'parked/erp',
      'blocked/erp',
    ]);
    expect(undecided({ sources: [mapping] }, { quarantineAbove: null, parkedAbove: null, blockedAbove: null })).toEqual(
      ['rejected/erp'],
    );
  });

  it('an alert about stuck items keeps its state while items of its source are sent, because they may be stuck again', () => {
    const sending = { source: 'erp', scheduled: true, quarantined: 0, ...QUIET, isSending: true, completeAt: NOW };
    const others = { ...sending, source: 'pim', isSending: false };
    expect(undecided({ sources: [sending, others] })).toEqual(['rejected/erp', 'parked/erp', 'blocked/erp']);
    expect(undecided({ sources: [sending] }, { rejectedAbove: null, blockedAbove: null })).toEqual(['parked/erp']);
  });

  it('an alert about an export without rows keeps its state while the stream has none', () => {
    expect(undecided({ empty: [{ source: 'erp', stream: 'boms', isNew: false }] })).toEqual(['export_empty/erp/boms']);
    expect(undecided({ empty: [{ source: 'erp', stream: 'boms', isNew: false }] }, { exportEmpty: false })).toEqual([]);
  });

  it.each([
    ['few deliveries', { delivered: 20, failed: 20, isWhole: true }, ['deliveries_failing']],
    ['a share between the limit and half of it', { delivered: 80, failed: 20, isWhole: true }, ['deliveries_failing']],
    ['half of the limit', { delivered: 350, failed: 50, isWhole: true }, []],
    ['an hour without a failure', { delivered: 3, failed: 0, isWhole: true }, []],
    ['an hour without a delivery', { delivered: 0, failed: 0, isWhole: true }, ['deliveries_failing']],
    ['a process that has just begun', { delivered: 3, failed: 0, isWhole: false }, ['deliveries_failing']],
  ])('an alert about failing deliveries with %s', (_, deliveries, expected) => {
    expect(undecided({ deliveries })).toEqual(expected);
    expect(ids({ deliveries })).toEqual([]);
  });
});
