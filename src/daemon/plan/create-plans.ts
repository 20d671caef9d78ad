import { fault } from '../../domain/faults.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';
import type { OperationRuntime } from '../../operations/runtime.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import type { PlanTools } from './effects.ts';

interface PlansOptions {
  config: RuntimeConfig;
  tools: PlanTools;
  api: { learntRate(): number | null };
}

type Plan = OperationRuntime['plan'];
type Write = Parameters<Plan>[1];

/** Plans syncs in this process, one at a time, because each plan needs room for a copy of the ledger. */
export function createPlans({ config, tools, api }: PlansOptions): { plan: Plan; stop(): Promise<void> } {
  const stopping = new AbortController();
  let present: ReturnType<Plan> | null = null;

  async function make(sources: readonly string[], write: Write, abort: AbortSignal): ReturnType<Plan> {
    const { smallestRate, writePlan } = await import('./write-plan.ts');
    abort.throwIfAborted();
    // A reload changes the config in its place, and a plan is about one config.
    const request = { of: 'sync', config: { ...config }, sources } as const;
    const rate = async () => smallestRate(api.learntRate(), config.target.maxRate);
    const receivers = { rate, onItems: async () => undefined, onRead: () => undefined };
    const { last } = await writePlan(request, { ...tools, ...receivers, write: untilAborted(write, abort) }, abort);
    return last;
  }

  return {
    async plan(sources, write, abort) {
      if (present !== null) throw BUSY;
      present = withAnySignal([abort, stopping.signal], (signal) => make(sources, write, signal));
      try {
        return await present;
      } finally {
        present = null;
      }
    },
    /** Stops the present plan, and waits until its copy of the ledger is removed. */
    async stop() {
      stopping.abort(STOPPED);
      await present?.catch(() => undefined);
    },
  };
}

const BUSY = fault('daemon.busy', 'A plan is being made already.', { suggestion: 'Ask again when it is done.' });
const STOPPED = fault('daemon.stopped', 'The daemon was stopped before the plan was done.', {
  suggestion: 'Nothing has changed. Ask again when the daemon runs.',
});

/** Gives up a write that waits for its reader when the plan is stopped. */
function untilAborted(write: Write, abort: AbortSignal): Write {
  const aborted = new Promise<never>((_, reject) => {
    abort.addEventListener('abort', () => reject(abort.reason), { once: true });
  });
  aborted.catch(() => undefined);
  return (lines) => Promise.race([write(lines), aborted]);
}
