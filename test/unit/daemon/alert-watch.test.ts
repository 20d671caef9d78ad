import { expect, it } from 'vitest';
import type { AlertNote } from '../../../src/domain/ports/alerts.ts';
import { type AlertFacts, sourcesOfStuck } from '../../../src/observe/alerts/conditions.ts';
import { createAlerts } from '../../../src/observe/alerts/create-alerts.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const DAY = 86_400_000;
const QUIET = { stuck: {}, isSending: false, isMapping: false };

it('alerts count a source as watched since now at the latest, also after the clock was set back by a year', async () => {
  const clock = createManualClock();
  const begin = clock.now();
  let kept: AlertNote | null = null;
  const alerts = createAlerts({
    note: { watchedSince: { erp: begin + 365 * DAY }, alerts: [] },
    keep: async (note) => void (kept = note),
    rules: () => RULES,
    channels: () => [],
    facts: async (watchedSince) => ({ ...FACTS, now: clock.now(), watchedSince }),
    watched: () => ['erp'],
    host: 'host',
    scrub: (text) => text,
    clock,
    log: createRecordingLog(),
  });
  alerts.start();
  await clock.sleepers(1);
  expect(kept).toMatchObject({ watchedSince: { erp: begin } });
  expect(alerts.list()).toEqual([]);

  clock.advance(2 * DAY);
  await clock.sleepers(1);
  expect(alerts.list()).toMatchObject([{ id: 'nothing_synced/erp', firing: true }]);
  await alerts.stop();
});

it('alerts about the quarantine are not over while rows wait for a changed mapping, and no notice says so', async () => {
  const clock = createManualClock();
  const notices: string[] = [];
  let [quarantined, isMapping] = [44, false];
  const alerts = createAlerts({
    note: null,
    keep: async () => undefined,
    rules: () => RULES,
    channels: () => [
      {
        id: 'team',
        type: 'exec',
        send: async ({ alert, status }) => void notices.push(`${alert} ${status}`),
        check: async () => undefined,
      },
    ],
    facts: async (watchedSince) => {
      const sources = [{ source: 'erp', scheduled: false, quarantined, ...QUIET, isMapping, completeAt: null }];
      return { ...FACTS, sources, now: clock.now(), watchedSince };
    },
    watched: () => [],
    host: 'host',
    scrub: (text) => text,
    clock,
    log: createRecordingLog(),
  });
  async function look(now: typeof quarantined, waits: boolean): Promise<boolean | undefined> {
    [quarantined, isMapping] = [now, waits];
    clock.advance(10_000);
    await clock.sleepers(1);
    return alerts.list()[0]?.firing;
  }
  alerts.start();
  await clock.sleepers(1);
  expect(await look(0, true)).toBe(true);
  expect(await look(44, false)).toBe(true);
  expect(notices).toEqual(['quarantine/erp firing']);
  expect(await look(0, false)).toBe(false);
  expect(notices).toEqual(['quarantine/erp firing', 'quarantine/erp resolved']);
  await alerts.stop();
});

it('alerts about blocked items are not over while they are sent again, and it is asked only for sources of such an alert', async () => {
  const clock = createManualClock();
  const fixed = { source: 'erp', scheduled: false, quarantined: 0, isMapping: false, completeAt: null };
  const asked: string[][] = [];
  let blocked = 150;
  const alerts = createAlerts({
    note: null,
    keep: async () => undefined,
    rules: () => ({ ...RULES, quarantineAbove: null, blockedAbove: 100 }),
    channels: () => [],
    facts: async (watchedSince, firing) => {
      asked.push(sourcesOfStuck(firing));
      const isSending = asked.at(-1)?.includes('erp') === true && blocked === 50;
      const sources = [{ ...fixed, stuck: { blocked }, isSending }];
      return { ...FACTS, sources, now: clock.now(), watchedSince };
    },
    watched: () => [],
    host: 'host',
    scrub: (text) => text,
    clock,
    log: createRecordingLog(),
  });
  async function look(now: number): Promise<boolean | undefined> {
    blocked = now;
    clock.advance(10_000);
    await clock.sleepers(1);
    return alerts.list()[0]?.firing;
  }
  alerts.start();
  await clock.sleepers(1);
  expect([await look(50), await look(150), await look(100), await look(100)]).toEqual([true, true, false, false]);
  expect(asked).toEqual([[], ['erp'], ['erp'], ['erp'], []]);
  await alerts.stop();
});

const RULES = {
  runFailed: true,
  guardHeld: true,
  runHeld: true,
  quarantineAbove: 0,
  rejectedAbove: null,
  parkedAbove: null,
  blockedAbove: null,
  exportEmpty: true,
  failedDeliveries: null,
  nothingSyncedMs: DAY,
  keyRefused: true,
  apiDownMs: DAY,
  backupOldMs: DAY,
  configRefused: true,
};

const FACTS: Omit<AlertFacts, 'now' | 'watchedSince'> = {
  sources: [{ source: 'erp', scheduled: true, quarantined: 0, ...QUIET, completeAt: null }],
  failedRuns: [],
  guarded: [],
  held: [],
  empty: [],
  deliveries: { delivered: 0, failed: 0, isWhole: true },
  refusal: null,
  apiDownSince: null,
  backup: null,
  configErrors: null,
};
