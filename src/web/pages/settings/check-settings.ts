import { z } from 'zod';
import { type Failure, failureOf } from '../../../admin/failure.ts';
import type { Handler } from '../../../admin/handler.ts';
import { type ApiFinding, checkApi, checkQueue, checkStreams, type StreamFinding } from '../../../daemon/check.ts';
import type { Logger } from '../../../lib/logging/logging.ts';

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
export function checkSettings({
  log,
  version,
}: {
  log: Logger;
  version: string;
}): Handler<Record<string, never>, SettingsChecked> {
  return {
    name: 'check-settings',
    request: z.strictObject({}),
    async handle(_request, { runtime, clock, abort }) {
      const { config, secrets } = runtime;
      const options = { config, secrets, clock, log, version, signal: abort };
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
}
