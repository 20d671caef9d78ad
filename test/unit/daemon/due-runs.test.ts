import { describe, expect, it } from 'vitest';
import { createDueRuns } from '../../../src/daemon/schedules/due-runs.ts';
import type { PullResult } from '../../../src/pipeline/pull.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const COMPLETE: PullResult = { runId: 1, result: 'complete', guarded: [], remapped: 0 };

/** Due runs over notes in memory, and a pull that ends when the test says so. */
function given() {
  let stored: unknown = null;
  const due = createDueRuns({
    ledger: { noteDaemon: async (_name, note) => void (stored = note) },
    note: null,
    clock: createManualClock(),
    log: createRecordingLog(),
  });
  const ends: ((result: PullResult) => void)[] = [];
  const pull = due.until(() => new Promise((resolve) => ends.push(resolve)));
  const begin = () => pull('erp', { trigger: 'file' }, new AbortController().signal);
  return { due, begin, end: () => ends.shift()?.(COMPLETE), stored: () => stored };
}

describe('a due run', () => {
  it('a due run is not due any more when it has ended', async () => {
    const { due, begin, end, stored } = given();
    await due.add('erp');
    expect(stored()).toHaveProperty('erp');
    const run = begin();
    end();
    await run;
    expect([due.sources(), stored()]).toEqual([[], null]);
  });

  it.each(['schedule', 'person'])(
    'a due run that is asked for while the former run (%s) ends stays due until it has ended itself',
    async (by) => {
      const { due, begin, end, stored } = given();
      if (by === 'schedule') await due.add('erp');
      const former = begin();
      await due.add('erp');
      end();
      await former;
      expect([due.sources(), Object.keys(stored() ?? {})]).toEqual([['erp'], ['erp']]);
      const run = begin();
      end();
      await run;
      expect([due.sources(), stored()]).toEqual([[], null]);
    },
  );

  it('a due run that is left out is over with the run that reads its source', async () => {
    const { due, begin, end, stored } = given();
    await due.add('erp');
    const former = begin();
    await due.add('erp');
    due.leftOut('erp');
    end();
    await former;
    expect([due.sources(), stored()]).toEqual([[], null]);
  });
});
