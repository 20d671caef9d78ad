import { expect, it } from 'vitest';
import { announced } from '../../../src/daemon/sources/announced-pull.ts';
import type { ProgressEvent } from '../../../src/domain/ports/progress.ts';
import type { Queues } from '../../../src/domain/ports/queues.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

it('a run that is complete stays complete where its counts cannot be read for the log', async () => {
  const log = createRecordingLog();
  const events: ProgressEvent[] = [];
  const pulled = { runId: 1, result: 'complete' as const, guarded: [], remapped: 0 };
  const cannot = () => Promise.reject(new Error('The reading thread has ended.'));
  const pull = announced(
    { pull: async () => pulled, pulling: () => [] },
    {
      // The only question of this test to the queue is for failed jobs.
      queues: { failed: async () => [] } as unknown as Queues,
      emit: (event) => void events.push(event),
      reads: { run: cannot, quarantinedCount: cannot, unmappedSources: cannot },
      log,
      scrub: (text) => text,
    },
  );
  expect(await pull('erp', { trigger: 'schedule' }, new AbortController().signal, 0)).toBe(pulled);
  expect(events).toEqual([{ type: 'run_ended', source: 'erp', result: 'complete' }]);
  expect(log.lines.map(({ message }) => message)).toContain(
    'The run of erp is complete, but its counts could not be read: The reading thread has ended.',
  );
});
