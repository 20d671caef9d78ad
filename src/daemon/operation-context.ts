import { fault } from '../domain/faults.ts';
import type { OperationContext } from '../operations/runtime.ts';
import type { Runtime } from './runtime.ts';
import { scheduleOf } from './schedules/source-pauses.ts';
import { sync } from './sync.ts';
import { countQueues } from './views/open-views.ts';

type Given = Omit<OperationContext, 'runtime' | 'sync' | 'daemon' | 'bytes' | 'queues' | 'schedule'> &
  Partial<Pick<OperationContext, 'daemon' | 'bytes'>> & { runtime: Runtime };

const NO_BYTES = { write: () => Promise.reject(fault('usage', 'The answer to this request is no document.')) };

/** What operations get of this process. */
export function operationContext({ runtime, daemon = null, bytes = NO_BYTES, ...given }: Given): OperationContext {
  const { clock } = given;
  const schedule = scheduleOf(runtime.config, clock);
  return {
    ...given,
    runtime,
    daemon,
    bytes,
    sync: (request) => sync(runtime, request, clock),
    queues: () => countQueues(runtime.queues),
    schedule: daemon === null ? schedule : { ...schedule, nextRun: (source) => daemon.nextRun(source) },
  };
}
