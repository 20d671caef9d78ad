import { Worker } from 'node:worker_threads';
import { fault } from '../../domain/faults.ts';
import { sentence } from '../../lib/text/sentence.ts';

/** The data with which the thread is started. */
export interface BackupTask {
  /** The ledger. */
  file: string;
  /** The path of the backup. */
  to: string;
  now: number;
}

/** The thread's first message. The thread may be ended once this message has arrived. */
export const LOADED = 'loaded';

export type BackupAnswer = { ok: true; file: string; bytes: number } | { ok: false; message: string };

/** SQLite copies even a large ledger outside this memory. */
const HEAP_MB_MAX = 256;

/**
 * Makes a backup in a separate thread, as `backUpLedger` does. After an abort the thread is ended, and its unfinished
 * file stays.
 *
 * @throws Fault `ledger.unwritable` if it cannot be made, `interrupted` after an abort
 */
export async function runBackup(task: BackupTask, abort: AbortSignal): Promise<{ file: string; bytes: number }> {
  if (abort.aborted) throw interruptedFault();
  const worker = new Worker(threadFile(), {
    workerData: task,
    // The thread needs no secret that the environment may have.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  });
  const { promise, resolve, reject } = Promise.withResolvers<BackupAnswer>();
  const loaded = Promise.withResolvers<void>();
  const onAbort = () => {
    reject(interruptedFault());
    // If a thread is ended while it loads SQLite, the whole process ends.
    void loaded.promise.then(() => worker.terminate());
  };
  abort.addEventListener('abort', onAbort, { once: true });
  worker.on('message', (message: typeof LOADED | BackupAnswer) => {
    if (message === LOADED) loaded.resolve();
    else resolve(message);
  });
  worker.once('error', reject);
  worker.once('exit', () => reject(failedFault('the thread that makes the backup has ended')));
  try {
    const answer = await promise;
    if (!answer.ok) throw failedFault(answer.message);
    return answer;
  } finally {
    abort.removeEventListener('abort', onAbort);
  }
}

/** The thread's file: a source in a checkout, and a file of the build in an installed package. */
function threadFile(): URL {
  const suffix = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`backup-thread.${suffix}`, import.meta.url);
}

function failedFault(reason: string): Error {
  return fault('ledger.unwritable', `The ledger could not be backed up: ${sentence(reason)}`, {
    path: 'backups',
    suggestion: 'Check that the folder of `backups` can be written and has room. The earlier backups are kept.',
  });
}

function interruptedFault(): Error {
  return fault('interrupted', 'The backup was stopped before it was complete.');
}
