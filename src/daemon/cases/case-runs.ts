// Runs the cases of the mappings beside a process that does other work. They run in a process of their own (`cases-process.ts`),
// which is ended if it takes too long. A thread would not do: V8 ends the whole process if a thread fills its memory quickly.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { fault } from '../../domain/faults.ts';
import { limitFaultOf } from '../../ledger/store/ledger-fault.ts';
import { type Fault, messageOf } from '../../lib/errors.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';
import { type Failure, faultOf } from '../../operations/outcome-fault.ts';
import type { OperationRuntime } from '../../operations/runtime.ts';
import type { Tested } from '../../operations/test-document.ts';
import { type Mappers, mappingDigest } from '../sources/mappers.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import { withoutSecrets } from './test-cases.ts';

/** What the process is asked. */
export interface CasesTask {
  configFile: string;
  /** Empty for the file beside the config. */
  files: readonly string[];
}

export type CasesAnswer =
  | { ok: true; tested: Tested; mappings: { source: string; digest: string }[] }
  | { ok: false; failure: Failure };

interface Limits {
  endWithinMs: number;
  heapMbMax: number;
}

const LIMITS: Limits = { endWithinMs: 60_000, heapMbMax: 512 };

interface CaseRunsOptions {
  config: Pick<RuntimeConfig, 'file'>;
  /** The mappings in use. */
  mappers: Mappers;
  secrets: SecretStore;
  /** Others only in tests. */
  limits?: Limits;
}

type Test = OperationRuntime['testCases'];

/** Runs cases one time after the other, because each run needs memory of its own. */
export function createCaseRuns({ config, mappers, secrets, limits = LIMITS }: CaseRunsOptions): {
  test: Test;
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  let present: Promise<CasesAnswer> | null = null;

  return {
    async test(files, abort) {
      if (present !== null) throw BUSY;
      present = withAnySignal([abort, stopping.signal], (signal) =>
        runApart({ configFile: config.file, files }, { signal, limits }),
      );
      try {
        const answer = await present;
        if (!answer.ok) throw faultOf(answer.failure);
        const notLoaded = answer.mappings.flatMap(({ source, digest }) => {
          const mapper = mappers.of(source);
          return mapper !== null && mappingDigest(mapper) === digest ? [] : [source];
        });
        const tested = withoutSecrets(answer.tested, secrets);
        return { ...tested, ...(notLoaded.length === 0 ? {} : { notLoaded }) };
      } finally {
        present = null;
      }
    },
    /** Ends the present run. */
    async stop() {
      stopping.abort(STOPPED);
      await present?.catch(() => undefined);
    },
  };
}

/** The answer of a process, which has ended then. */
async function runApart(
  task: CasesTask,
  { signal, limits: { endWithinMs, heapMbMax } }: { signal: AbortSignal; limits: Limits },
): Promise<CasesAnswer> {
  signal.throwIfAborted();
  // A mapping module has the environment that it has in a run. What it prints is not a line of this process.
  const child = fork(processFile(), [JSON.stringify(task), String(endWithinMs)], {
    execArgv: [`--max-old-space-size=${heapMbMax}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<CasesAnswer>();
  const ended = new Promise<void>((resolveEnd) => child.once('close', () => resolveEnd()));
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => reject(lateFault(endWithinMs)), endWithinMs);
  child.once('message', (answer) => resolve(answer as CasesAnswer));
  child.once('error', (error) => reject(limitFaultOf(error) ?? endedFault(messageOf(error))));
  // V8 ends a process that has no memory left.
  child.once('close', (code, by) =>
    reject(by === 'SIGABRT' ? memoryFault(heapMbMax) : endedFault(by ?? `exit code ${code}`)),
  );
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    child.kill('SIGKILL');
    await ended;
  }
}

/** The file of the process: a source in a checkout, and a file of the build in an installed package. */
function processFile(): string {
  const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return fileURLToPath(new URL(`cases-process.${suffix}`, import.meta.url));
}

const BUSY = fault('daemon.busy', 'The cases of the mappings are being run already.', {
  suggestion: 'Ask again when they are done.',
});
const STOPPED = fault('daemon.stopped', 'The daemon was stopped before the cases of the mappings were done.', {
  suggestion: 'Nothing has changed. Ask again when the daemon runs.',
});
const ON_MACHINE = 'Run `dpp-sync test` on the machine of the daemon: it has no limit.';

function lateFault(withinMs: number): Fault {
  return fault('cases.stopped', `The cases were not done within ${withinMs / 1000} s.`, {
    suggestion: `${ON_MACHINE} A module of a mapping may not end.`,
  });
}

function memoryFault(heapMbMax: number): Fault {
  return fault('cases.stopped', `The cases need more than ${heapMbMax} MB of memory.`, { suggestion: ON_MACHINE });
}

function endedFault(how: string): Fault {
  return fault('cases.stopped', `The process that runs the cases has ended before it was done (${how}).`, {
    suggestion: `${ON_MACHINE} A module of a mapping may have ended it.`,
  });
}
