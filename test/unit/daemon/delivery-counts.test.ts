import { expect, it } from 'vitest';
import { createDeliveryCounts } from '../../../src/daemon/alerts.ts';
import type { DeliveryState } from '../../../src/domain/delivery/delivery.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const MINUTE = 60_000;

it('the deliveries of the last hour are counted by what has become of them, without those that failed again, and forgotten after it', () => {
  const clock = createManualClock();
  const counts = createDeliveryCounts(clock);
  const settled = (state: DeliveryState, failedAgain = false) =>
    counts.observe({ type: 'settled', state, failedAgain } as ProgressEvent);
  for (const state of ['delivered', 'rejected', 'blocked', 'parked', 'due', 'in_doubt', 'superseded'] as const)
    settled(state);
  expect(counts.ofLastHour()).toEqual({ delivered: 1, failed: 3, isWhole: false });
  clock.advance(30 * MINUTE);
  settled('delivered');
  expect(counts.ofLastHour()).toEqual({ delivered: 2, failed: 3, isWhole: false });
  clock.advance(30 * MINUTE);
  expect(counts.ofLastHour()).toEqual({ delivered: 1, failed: 0, isWhole: true });
  for (const state of ['rejected', 'blocked', 'parked'] as const) settled(state, true);
  expect(counts.ofLastHour()).toEqual({ delivered: 1, failed: 0, isWhole: true });
  clock.advance(60 * MINUTE);
  expect(counts.ofLastHour()).toEqual({ delivered: 0, failed: 0, isWhole: true });
});
