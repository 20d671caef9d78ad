import { expect, it } from 'vitest';
import { createPauseBetweenLooks } from '../../../src/daemon/sync.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import { createEventBus } from '../../../src/observe/event-bus.ts';
import { createVirtualTime } from '../../support/time/virtual-time.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const EVENT: ProgressEvent = { type: 'request', operation: 'ping', outcome: 'accepted', retry: false, latencyMs: null };

/** Looks until `abort`, and has the times of the looks in milliseconds since the beginning. */
function given({ leastMs = 0, waitMs = 60_000 } = {}) {
  const time = createVirtualTime();
  const begunAt = time.ticks();
  const bus = createEventBus({ log: createRecordingLog() });
  const pause = createPauseBetweenLooks(bus, { clock: time, waitMs });
  const abort = new AbortController();
  const looks: number[] = [];
  void (async () => {
    for (;;) {
      await pause.rest(abort.signal, leastMs);
      if (abort.signal.aborted) break;
      looks.push(time.ticks() - begunAt);
    }
    pause.end();
  })();
  return { time, bus, abort, looks };
}

it('while nothing happens, each pause between two looks is twice as long as the one before it, up to a limit', async () => {
  const { time, abort, looks } = given();
  await time.pass(2600);
  expect(looks).toEqual([40, 120, 280, 600, 1240, 1880, 2520]);
  abort.abort();
});

it('while nothing happens, a pause is at most a tenth of the time after which the sync gives up', async () => {
  const { time, abort, looks } = given({ waitMs: 2000 });
  await time.pass(1000);
  expect(looks).toEqual([40, 120, 280, 480, 680, 880]);
  abort.abort();
});

it('an event ends a long pause at once, and the next pauses are short again', async () => {
  const { time, bus, abort, looks } = given();
  await time.pass(700);
  bus.emit(EVENT);
  await time.pass(200);
  expect(looks.slice(4)).toEqual([700, 740, 820]);
  abort.abort();
});

it('while something happens all the time, a pause is not shorter than 40 ms', async () => {
  const { time, bus, abort, looks } = given();
  for (let ms = 0; ms < 200; ms += 1) {
    bus.emit(EVENT);
    await time.pass(1);
  }
  expect(looks).toEqual([40, 80, 120, 160, 200]);
  abort.abort();
});

it('a pause is at least as long as the caller asks, even if something happens', async () => {
  const { time, bus, abort, looks } = given({ leastMs: 500 });
  bus.emit(EVENT);
  await time.pass(1100);
  expect(looks).toEqual([500, 1000]);
  abort.abort();
});

it('an abort ends a pause at once', async () => {
  const { time, abort, looks } = given();
  await time.pass(700);
  abort.abort();
  await time.settle();
  expect(looks).toEqual([40, 120, 280, 600]);
});
