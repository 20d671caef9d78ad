import { z } from 'zod';
import { type ApiFinding, checkApi, checkQueue, checkStreams, type StreamFinding } from '../../../daemon/check.ts';
import type { Runtime } from '../../../daemon/runtime.ts';
import { fault } from '../../../domain/faults.ts';
import { worked } from '../../../operations/documents.ts';
import type { Operation } from '../../../operations/operation.ts';
import { type Failure, failureOf } from '../../../operations/outcome-fault.ts';
import type { OperationContext } from '../../../operations/runtime.ts';

/** What a check of the settings has found. */
export interface SettingsChecked {
  streams: (Omit<StreamFinding, 'problem'> & { problem: Failure | null })[];
  queue: { found: string | null; warnings: string[]; problem: Failure | null };
  api: Omit<ApiFinding, 'problem'> & { problem: Failure | null };
}

/**
 * Opens every source, connects to the queue and asks the API for the rights of the keys, like `dpp-sync check`. Writes
 * nothing.
 */
export const checkSettings: Operation<
  Record<string, never>,
  SettingsChecked,
  OperationContext & { runtime: Runtime }
> = {
  name: 'check-settings',
  kind: 'work',
  tag: 'daemon',
  role: 'operator',
  summary: 'Opens every source, connects to the queue, and asks the API what the keys may do.',
  request: z.strictObject({}),
  result: worked(),
  async run(_request, { runtime, daemon, clock, abort }) {
    if (daemon === null) throw fault('usage', 'No daemon works on this ledger.');
    const { config, secrets } = runtime;
    const options = { config, secrets, clock, log: daemon.log, version: daemon.version, signal: abort };
    const streams: SettingsChecked['streams'] = [];
    const storedOf = (source: string, stream: string) => runtime.reads.streamIdentity(source, stream);
    for await (const { problem, ...found } of checkStreams(options, { mappers: runtime.mappers, storedOf })) {
      streams.push({ ...found, problem: problem === null ? null : failureOf(problem) });
    }
    const { found, warnings, problem } = await checkQueue(config);
    const { problem: apiProblem, ...api } = await checkApi(options);
    return {
      streams,
      queue: { found, warnings, problem: problem === null ? null : failureOf(problem) },
      api: { ...api, problem: apiProblem === null ? null : failureOf(apiProblem) },
    };
  },
};
