import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type WorkProgress, watchWork } from '../../../src/admin/work-progress.ts';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import type { OpenDeliveries } from '../../../src/domain/ports/ledger/ledger-standing.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import { createEventBus } from '../../../src/observe/event-bus.ts';
import { secondsLeft, soonSent } from '../../../src/observe/standing.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const LEFT = { due: 10, sending: 2, following: 3, requested: 5, waiting: 7, incomplete: 9, unconfirmed: 20 };
const SENDING = { perSecond: 2, api: 'ok', queue: 'ok', pausedQueues: [] } as const;

describe('what is left to send', () => {
  it('what is asked for and not staged yet is sent soon, and unconfirmed writes take time', () => {
    expect(soonSent(LEFT)).toBe(20);
    expect(secondsLeft(LEFT, SENDING)).toBe(20);
    expect(secondsLeft(LEFT, { ...SENDING, api: 'denied_scope' })).toBe(20);
  });

  it.each([
    { pausedQueues: ['deliver' as const] },
    { pausedQueues: null },
    { queue: 'unreachable' as const },
    { api: 'unreachable' as const },
    { api: 'throttled' as const },
    { api: 'denied_key' as const },
    { perSecond: 0 },
  ])('no time is given while nothing is sent: %j', (stopped) => {
    expect(secondsLeft(LEFT, { ...SENDING, ...stopped })).toBeNull();
  });
});

describe('the progress of work', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('nothing is left only by a count, because more is staged while the first ones are sent', async () => {
    const log = createRecordingLog();
    const bus = createEventBus({ log });
    const open: OpenDeliveries = { due: 2, sending: 0, following: 0, waiting: 0, incomplete: 0, unconfirmed: 0 };
    const runtime = {
      bus,
      reads: { openDeliveries: async () => ({ ...open }) },
      passports: { requested: () => 0 },
      api: {
        authorization: () => ({ open: true }),
        unreachableSince: () => null,
        longWait: () => null,
      },
    } as unknown as Runtime;
    let seen: WorkProgress | null = null;
    // A clock that stands still: no further count is due by itself.
    const ticks = vi.fn(() => performance.now());
    const { stop } = watchWork({ runtime, clock: { ticks } as never }, (progress) => {
      seen = progress;
    });
    const settled = { type: 'settled', state: 'delivered' } as ProgressEvent;
    await vi.advanceTimersByTimeAsync(200);
    expect(seen).toMatchObject({ left: 0 });
    await vi.advanceTimersByTimeAsync(200);
    expect(seen).toMatchObject({ left: 2 });
    open.due = 3000;
    bus.emit(settled);
    bus.emit(settled);
    await vi.advanceTimersByTimeAsync(600);
    expect(seen).toMatchObject({ settled: 2, left: 3000 });
    await stop();
  });
});
