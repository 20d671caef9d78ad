import { expect, it } from 'vitest';
import { createApiWaitWatch } from '../../../src/daemon/watches.ts';
import { createApiHealth } from '../../../src/delivery/admission/api-health.ts';
import { createLearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import type { ApiWait } from '../../../src/domain/delivery/outcome.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const DAY_MS = 86_400_000;

it('a wait for the API that is read many times is the same wait, and is stored once', async () => {
  const manual = createManualClock();
  // A process that is interrupted for some milliseconds before each reading of the wall clock.
  let readings = 0;
  const clock = { ...manual, now: () => manual.now() + 7 * (readings++ % 3) };
  const api = createApiHealth({
    target: { ping: () => Promise.reject(new Error('The API is not asked.')) },
    rate: createLearntRate(null, () => 0),
    ownPublishKey: false,
    clock,
    random: () => 0,
    emit: () => undefined,
  });
  const stored: (ApiWait | null)[] = [];
  const noteApiWait = async (wait: ApiWait | null) => void stored.push(wait);
  const watch = createApiWaitWatch({
    api,
    ledger: { noteApiWait },
    noted: null,
    hasAnswered: () => true,
    emit: () => undefined,
    log: createRecordingLog(),
  });
  const answer = (retryAfterMs: number) =>
    api.observe(
      {
        outcome: { kind: 'throttled', retryAfterMs, detail: { status: 429, message: 'Tomorrow.' } },
        access: 'product.create',
        subject: null,
      },
      5,
    );

  answer(DAY_MS);
  for (let look = 0; look < 10; look++) await watch.look();
  expect(stored).toHaveLength(1);
  expect((stored[0]?.until ?? 0) - (stored[0]?.since ?? 0)).toBe(DAY_MS);

  // A reopen probe is refused as well, for an hour more.
  manual.advance(60_000);
  answer(DAY_MS + 3_600_000);
  for (let look = 0; look < 10; look++) await watch.look();
  expect(stored).toHaveLength(2);
  expect((stored[1]?.until ?? 0) - (stored[0]?.until ?? 0)).toBeGreaterThan(3_600_000);
});
