import { fault } from '../../domain/faults.ts';
import type { OperationRuntime } from '../../operations/runtime.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import type { RehearsalTools } from './rehearsal.ts';

interface PlansOptions extends Omit<RehearsalTools, 'onRead'> {
  config: RuntimeConfig;
  api: { learntRate(): number | null };
}

/** Makes the function that plans in this process. */
export function createPlans({ config, api, ...tools }: PlansOptions): OperationRuntime['plan'] {
  // Each plan needs room for a copy of the ledger.
  let isPlanning = false;
  return async (sources, write, abort) => {
    if (isPlanning) throw BUSY;
    isPlanning = true;
    try {
      const { smallestRate, writePlan } = await import('./write-plan.ts');
      // A reload changes the config in its place, and a plan is about one config.
      const request = { of: 'sync', config: { ...config }, sources } as const;
      const rate = async () => smallestRate(api.learntRate(), config.target.maxRate);
      const rest = { rate, onItems: async () => undefined, onRead: () => undefined };
      return (await writePlan(request, { ...tools, ...rest, write }, abort)).last;
    } finally {
      isPlanning = false;
    }
  };
}

const BUSY = fault('daemon.busy', 'A plan is being made already.', { suggestion: 'Ask again when it is done.' });
