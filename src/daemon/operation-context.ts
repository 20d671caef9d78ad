import { fault } from '../domain/faults.ts';
import type { OperationContext } from '../operations/runtime.ts';
import type { Runtime } from './runtime.ts';
import { sync } from './sync.ts';

type Given = Omit<OperationContext, 'runtime' | 'sync' | 'daemon' | 'bytes'> &
  Partial<Pick<OperationContext, 'daemon' | 'bytes'>> & { runtime: Runtime };

const NO_BYTES = { write: () => Promise.reject(fault('usage', 'The answer to this request is no document.')) };

/** What operations get of this process. */
export function operationContext({ runtime, daemon = null, bytes = NO_BYTES, ...given }: Given): OperationContext {
  return { ...given, runtime, daemon, bytes, sync: (request) => sync(runtime, request, given.clock) };
}
