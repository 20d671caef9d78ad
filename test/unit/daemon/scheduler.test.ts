import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createScheduler, type Scheduler } from '../../../src/daemon/scheduler.ts';
import { covers } from '../../support/docs/reliability.ts';
import { createManualClock, type ManualClock } from '../../support/time/manual-clock.ts';
import { createRecordingLog, type RecordingLog } from '../../support/worlds/recording-log.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('the scheduler', () => {
  let scheduler: Scheduler;
  let clock: ManualClock;
  let log: RecordingLog;
  let started: string[];
  let postponed: string[];
  let startRun: (source: string) => Promise<void>;

  afterEach(() => scheduler.stop());

  async function start(
    cron: string,
    { timezone = 'UTC', at = '2027-03-29T00:00Z', paused = [] as [from: string, to: string][] } = {},
  ): Promise<void> {
    clock = createManualClock(Date.parse(at));
    log = createRecordingLog();
    started = [];
    postponed = [];
    startRun = async (source) => {
      started.push(`${source} ${new Date(clock.now()).toISOString().slice(0, 19)}`);
    };
    scheduler = createScheduler({
      schedules: [{ source: 'erp', cron, timezone }],
      startRun: (source) => startRun(source),
      pausedUntil: (_source, now) =>
        paused
          .map((pause) => pause.map((time) => (time === 'Infinity' ? Number.POSITIVE_INFINITY : Date.parse(time))))
          .find(([from = 0, to = 0]) => from <= now && now < to)?.[1] ?? null,
      onDue: (source) => postponed.push(source),
      clock,
      log,
    });
    scheduler.start();
    await clock.sleepers(1);
  }

  /** Lets time pass as it does, in steps of half a minute. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += MINUTE / 2) {
      clock.advance(MINUTE / 2);
      await clock.sleepers(1);
      await setImmediate();
    }
  }

  it('the scheduler starts a run at the time of the source, in its time zone', async () => {
    await start('30 4 * * *', { timezone: 'Europe/Berlin' });
    expect(scheduler.nextRun('erp')).toBe(Date.parse('2027-03-29T02:30Z'));
    expect(scheduler.nextRun('pim')).toBeNull();
    await pass(26 * HOUR);
    expect(started).toEqual(['erp 2027-03-29T02:30:00']);
    expect(scheduler.nextRun('erp')).toBe(Date.parse('2027-03-30T02:30Z'));
  });

  it('the scheduler logs a run that could not be started, and starts one at the next time', async () => {
    await start('*/10 * * * *');
    let failures = 1;
    const ok = startRun;
    startRun = (source) => (failures-- > 0 ? Promise.reject(new Error('The queue is away.')) : ok(source));
    await pass(20 * MINUTE);
    expect(started).toEqual(['erp 2027-03-29T00:20:00']);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { source: 'erp', error: 'The queue is away.' } }]);
  });

  it('the scheduler leaves times out while a run is being started, and writes nothing to the console', async () => {
    const written = vi.spyOn(process.stdout, 'write');
    await start('* * * * *');
    let calls = 0;
    startRun = () => {
      calls += 1;
      return new Promise(() => undefined);
    };
    await pass(5 * MINUTE);
    expect(calls).toBe(1);
    expect(written).not.toHaveBeenCalled();
    written.mockRestore();
  });

  it.each([HOUR, DAY])(
    'the scheduler starts one run late for the times that a clock set forward by %i ms has jumped over',
    covers('clock-jump', 'I5'),
    async (ms) => {
      await start('*/10 * * * *');
      await pass(MINUTE);
      clock.jump(ms);
      await pass(15 * MINUTE);
      expect(started).toHaveLength(2);
      const [late = '', next = ''] = started.map((one) => one.slice(4));
      expect(Date.parse(`${late}Z`)).toBeLessThanOrEqual(Date.parse('2027-03-29T00:02Z') + ms);
      expect(Date.parse(`${next}Z`)).toBe(Date.parse('2027-03-29T00:10Z') + ms);
    },
  );

  it.each([HOUR, DAY])(
    'the scheduler starts a run at the next time that the clock shows after it was set back by %i ms',
    covers('clock-jump', 'I5'),
    async (ms) => {
      await start('0 2,3 * * *', { at: '2027-03-29T02:30Z' });
      await pass(MINUTE);
      clock.jump(-ms);
      await pass(2 * HOUR);
      const day = new Date(Date.parse('2027-03-29T02:30Z') - ms).toISOString().slice(0, 10);
      expect(started).toEqual(ms === HOUR ? [`erp ${day}T02:00:00`, `erp ${day}T03:00:00`] : [`erp ${day}T03:00:00`]);
    },
  );

  it('the scheduler starts no run twice where the clock is corrected a bit', covers('clock-jump', 'I5'), async () => {
    await start('0 2 * * *', { at: '2027-03-29T01:59:30Z' });
    await pass(MINUTE);
    clock.jump(-2 * MINUTE);
    await pass(10 * MINUTE);
    expect(started).toEqual(['erp 2027-03-29T02:00:00']);
  });

  it('the scheduler starts one run at the end of a pause for all times in it', async () => {
    await start('*/10 * * * *', { paused: [['2027-03-29T00:15Z', '2027-03-29T01:05Z']] });
    expect(scheduler.nextRun('erp')).toBe(Date.parse('2027-03-29T00:10Z'));
    await pass(15 * MINUTE);
    expect(scheduler.nextRun('erp')).toBe(Date.parse('2027-03-29T01:05Z'));
    await pass(60 * MINUTE);
    expect(postponed).toContain('erp');
    expect(started).toEqual(['00:10', '01:05', '01:10'].map((time) => `erp 2027-03-29T${time}:00`));
  });

  it('the scheduler starts a run that was asked for at once, or at the end of the pause', async () => {
    await start('0 5 * * *', { paused: [['2027-03-29T01:00Z', '2027-03-29T02:00Z']] });
    scheduler.request('erp', 'file');
    await pass(MINUTE);
    await pass(HOUR);
    scheduler.request('erp', 'file');
    expect(scheduler.nextRun('erp')).toBeLessThan(Date.parse('2027-03-29T02:00Z'));
    await pass(2 * HOUR);
    expect(started).toHaveLength(2);
    expect(started[1]).toBe('erp 2027-03-29T02:00:00');
  });

  it('the scheduler starts a due run at once when the pause is taken away', async () => {
    const paused: [string, string][] = [['2027-03-29T01:00Z', '2027-05-18T01:00Z']];
    await start('0 5 1 1 *', { at: '2027-03-29T02:00Z', paused });
    scheduler.request('erp', 'file');
    await pass(MINUTE);
    expect(scheduler.nextRun('erp')).toBe(Date.parse('2027-05-18T01:00Z'));
    paused.pop();
    await pass(MINUTE);
    expect(started).toEqual(['erp 2027-03-29T02:01:30']);
  });

  it('the scheduler follows the pause of a due run to its new end', async () => {
    const paused: [string, string][] = [['2027-03-29T01:00Z', '2027-03-29T05:00Z']];
    await start('0 5 1 1 *', { at: '2027-03-29T02:00Z', paused });
    scheduler.request('erp', 'file');
    await pass(MINUTE);
    paused[0] = ['2027-03-29T01:00Z', '2027-03-29T03:00Z'];
    await pass(MINUTE);
    expect(scheduler.nextRun('erp')).toBe(Date.parse('2027-03-29T03:00Z'));
    await pass(HOUR);
    expect(started).toEqual(['erp 2027-03-29T03:00:00']);
  });

  it('the scheduler has no next run of a source whose pauses have no end, and says so once', async () => {
    await start('0 * * * *', { paused: [['2027-03-29T00:00Z', 'Infinity']] });
    scheduler.request('erp', 'file');
    await pass(3 * HOUR);
    expect(scheduler.nextRun('erp')).toBeNull();
    expect(started).toEqual([]);
    expect(log.lines.map(({ message }) => message)).toEqual([
      'The run of erp is due, and does not begin, because the pauses of the source have no end.',
    ]);
  });

  it('the scheduler starts a run whose time came just before its schedules were replaced', async () => {
    await start('0 5 * * *');
    clock.jump(6 * HOUR);
    scheduler.replace([{ source: 'erp', cron: '0 5 * * *', timezone: 'UTC' }]);
    await clock.sleepers(1);
    expect(started).toEqual(['erp 2027-03-29T06:00:00']);
  });

  it('the scheduler keeps nothing of its rounds in memory', async () => {
    await start('0 5 1 1 *');
    const rounds = async (count: number) => {
      for (let round = 0; round < count; round += 1) await pass(MINUTE / 2);
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    await rounds(2000);
    const before = await rounds(100);
    expect((await rounds(20_000)) - before).toBeLessThan(500_000);
  });

  it('the scheduler follows schedules that have changed', async () => {
    await start('0 5 * * *');
    scheduler.replace([{ source: 'pim', cron: '0 1 * * *', timezone: 'UTC' }]);
    expect(scheduler.nextRun('erp')).toBeNull();
    await pass(6 * HOUR);
    expect(started).toEqual(['pim 2027-03-29T01:00:00']);
  });

  const nights = [
    { night: 'when it does not exist', at: '2027-03-27T22:00Z', started: '2027-03-28T01:30:00' },
    { night: 'when it comes twice', at: '2027-10-30T22:00Z', started: '2027-10-31T00:30:00' },
  ];
  it.each(nights)('the scheduler runs 02:30 once on the night $night', covers('summer-time', 'I5'), async (one) => {
    await start('30 2 * * *', { timezone: 'Europe/Berlin', at: one.at });
    await pass(12 * HOUR);
    expect(started).toEqual([`erp ${one.started}`]);
  });
});
