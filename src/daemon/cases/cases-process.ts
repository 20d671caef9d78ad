// The process that runs the cases of the mappings once, and ends: `cases-process.ts TASK END_WITHIN_MS`. It sends its answer to the
// process that has started it. A mapping module may compute for long, or need all memory.

import { Worker } from 'node:worker_threads';
import { giveWay } from '../../lib/give-way.ts';
import { createSecretStore } from '../../lib/logging/secrets.ts';
import { failureOf } from '../../operations/outcome-fault.ts';
import { reloadConfigOfMappings } from '../load.ts';
import { mappingDigest } from '../sources/mappers.ts';
import type { CasesAnswer, CasesTask } from './case-runs.ts';
import { testCases, withoutSecrets } from './test-cases.ts';

async function answer({ configFile, files }: CasesTask): Promise<CasesAnswer> {
  const secrets = createSecretStore();
  try {
    const config = await reloadConfigOfMappings(configFile, secrets);
    const { tested, mappers } = await testCases(files, { config, configFile, secrets });
    const mappings = Array.from(mappers, ([source, mapper]) => ({ source, digest: mappingDigest(mapper) }));
    return { ok: true, tested: withoutSecrets(tested, secrets), mappings };
  } catch (error) {
    return { ok: false, failure: failureOf(error) };
  }
}

/**
 * Ends this process in time, also if the process that has started it was killed and cannot do it. A thread does it, because a
 * module may never give back the main thread.
 */
function endInTime(withinMs: number): void {
  const killer = 'setTimeout(() => process.kill(process.pid, "SIGKILL"), require("node:worker_threads").workerData)';
  new Worker(killer, { eval: true, workerData: withinMs }).unref();
}

const [task = '', endWithinMs = ''] = process.argv.slice(2);
endInTime(Number(endWithinMs));
giveWay();
const answered = await answer(JSON.parse(task) as CasesTask);
// The answer may still be on its way when a process ends, so this one waits until it is ended.
process.once('disconnect', () => process.exit());
process.send?.(answered);
