import { expect, it } from 'vitest';
import type { AlertNote } from '../../../src/domain/ports/alerts.ts';
import type { AlertFacts } from '../../../src/observe/alerts/conditions.ts';
import { createAlerts } from '../../../src/observe/alerts/create-alerts.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const DAY = 86_400_000;

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

const RULES = {
  runFailed: true,
  guardHeld: true,
  quarantineAbove: 0,
  nothingSyncedMs: DAY,
  keyRefused: true,
  apiDownMs: DAY,
  backupOldMs: DAY,
  configRefused: true,
};

const FACTS: Omit<AlertFacts, 'now' | 'watchedSince'> = {
  sources: [{ source: 'erp', scheduled: true, quarantined: 0, completeAt: null }],
  failedRuns: [],
  guarded: [],
  refusal: null,
  apiDownSince: null,
  backup: null,
  configErrors: null,
};
