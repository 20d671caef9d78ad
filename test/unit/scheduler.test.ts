import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createScheduler, type Scheduler } from '../../src/daemon/scheduler.ts';
import { createRecordingLog, type RecordingLog } from '../support/recording-log.ts';

describe('the scheduler', () => {
  let scheduler: Scheduler;
  let log: RecordingLog;
  let rings: string[];
  let ring: (source: string) => Promise<void>;

  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 2, 29, 0, 0) });
    rings = [];
    log = createRecordingLog();
    ring = async (source) => {
      rings.push(`${source} ${new Date().toISOString()}`);
    };
  });
  afterEach(async () => {
    await scheduler.stop();
    vi.useRealTimers();
  });
  function start(cron: string, timezone = 'UTC'): void {
    scheduler = createScheduler({
      schedules: [{ source: 'erp', cron, timezone }],
      ring: (source) => ring(source),
      log,
    });
    scheduler.start();
  }

  it('rings at the time of the source, in its time zone', async () => {
    start('30 4 * * *', 'Europe/Berlin');
    expect(scheduler.nextRun('erp')).toBe(Date.UTC(2026, 2, 29, 2, 30));
    expect(scheduler.nextRun('pim')).toBeNull();
    await vi.advanceTimersByTimeAsync(26 * 3_600_000);
    expect(rings).toEqual(['erp 2026-03-29T02:30:00.000Z']);
    expect(scheduler.nextRun('erp')).toBe(Date.UTC(2026, 2, 30, 2, 30));
  });

  it('rings late, and once, for times that passed while nothing could run', async () => {
    start('*/10 * * * *');
    await vi.advanceTimersByTimeAsync(60_000);
    vi.setSystemTime(Date.UTC(2026, 2, 29, 5, 5));
    await vi.advanceTimersByTimeAsync(16 * 60_000);
    expect(rings).toEqual(['erp 2026-03-29T05:14:00.000Z', 'erp 2026-03-29T05:20:00.000Z']);
  });

  it('tells of a ring that failed, and rings again at the next time', async () => {
    let failures = 1;
    const ok = ring;
    ring = (source) => (failures-- > 0 ? Promise.reject(new Error('The queue is away.')) : ok(source));
    start('*/10 * * * *');
    await vi.advanceTimersByTimeAsync(20 * 60_000);
    expect(rings).toEqual(['erp 2026-03-29T00:20:00.000Z']);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { source: 'erp', error: 'The queue is away.' } }]);
  });

  it('writes nothing to stdout, whatever happens', async () => {
    const written = vi.spyOn(process.stdout, 'write');
    const consoles = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) => vi.spyOn(console, name));
    // It never ends, so that every further time overlaps.
    ring = () => new Promise(() => undefined);
    start('* * * * *');
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    vi.setSystemTime(Date.UTC(2026, 2, 29, 9, 0));
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    expect(written).not.toHaveBeenCalled();
    for (const one of consoles) expect(one).not.toHaveBeenCalled();
    expect(log.lines.length).toBeGreaterThan(0);
  });
});
