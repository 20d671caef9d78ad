import { stat } from 'node:fs/promises';
import { sourceFault } from '../connector.ts';
import type { Downloads } from './file-options.ts';
import type { Entry, FileServer, FileStore, LocalCopy } from './file-store.ts';
import type { Location } from './location.ts';
import { changedFault, changeOf, localVersionOf, type SourceFile } from './source-file.ts';
import type { TemporaryFiles } from './temporary-files.ts';

interface RemoteStoreOptions {
  location: Location;
  server: FileServer;
  limits: Downloads;
  temporary: TemporaryFiles;
}

/**
 * A server of files. A file is downloaded completely before its first row is read, so that a slow ledger keeps no
 * connection open, and so that a change of the file during the download is noticed.
 */
export function createRemoteStore({ location, server, limits, temporary }: RemoteStoreOptions): FileStore {
  const { label } = location;

  /** Waits for one request, and stops it if the server is silent for too long. */
  function request<T>(what: string, signal: AbortSignal, work: (alive: () => void) => Promise<T>): Promise<T> {
    return watched(work, {
      idleMs: limits.idleMs,
      totalMs: limits.totalMs,
      signal,
      stop: () => server.interrupt(),
      tooSlow: (limit) =>
        tooSlow(
          limit === 'idleMs'
            ? `${what}: the server was silent for ${limits.idleMs} ms.`
            : `${what} within ${limits.totalMs} ms.`,
        ),
    });
  }

  const look = (path: string, signal: AbortSignal): Promise<Entry | null> =>
    request(`${label(path)} could not be looked up`, signal, () => server.stat(path, signal));

  async function download(file: SourceFile, path: string, signal: AbortSignal): Promise<void> {
    await request(`${file.label} could not be downloaded`, signal, (alive) => {
      const progress = (bytes: number) => {
        alive();
        assertNotTooLarge(file, bytes, limits);
      };
      return server.download(file, { path, progress }, signal);
    });
  }

  return {
    stat: look,
    list: (folder, wanted, signal) =>
      request(`${label(folder)} could not be listed`, signal, (alive) => server.list(folder, wanted, signal, alive)),
    async copy(file, signal): Promise<LocalCopy> {
      assertNotTooLarge(file, file.bytes ?? 0, limits);
      const temp = await temporary.create();
      try {
        await download(file, temp.path, signal);
        const stats = await stat(temp.path, { bigint: true });
        const bytes = Number(stats.size);
        if (file.bytes !== null && bytes !== file.bytes) {
          throw sourceFault(`${file.label} was not downloaded completely: ${bytes} of ${file.bytes} bytes arrived.`, {
            suggestion: 'Pull again. If this happens each time, compare the size that the server states with the file.',
          });
        }
        assertUnchanged(file, await look(file.path, signal));
        const copy = { ...file, path: temp.path, bytes, version: localVersionOf(stats) };
        return { file: copy, release: temp.remove };
      } catch (error) {
        await temp.remove();
        throw error;
      }
    },
    async move(file, path, signal) {
      const { move } = server;
      if (move === undefined) throw cannotChange(file);
      return await request(`${file.label} could not be moved`, signal, () => move(file, path, signal));
    },
    async remove(file, signal) {
      const { remove } = server;
      if (remove === undefined) throw cannotChange(file);
      await request(`${file.label} could not be deleted`, signal, () => remove(file, signal));
    },
    close: () => server.close(),
  };
}

function assertNotTooLarge(file: SourceFile, bytes: number, { maxBytes }: Downloads): void {
  if (bytes <= maxBytes) return;
  throw sourceFault(`${file.label} is larger than ${maxBytes} bytes, the most that is downloaded.`, {
    suggestion: 'If the file is right, raise `downloads.maxBytes` in the options of the source.',
  });
}

/**
 * If a file is replaced while the server sends it, the download has the beginning of one export and the end of another.
 */
function assertUnchanged(file: SourceFile, now: Entry | null): void {
  if (now === null) throw changedFault(file, 'the file was removed');
  if (now.version !== file.version) throw changedFault(file, changeOf(file.bytes, now.bytes));
}

function tooSlow(message: string): Error {
  return sourceFault(message, {
    suggestion:
      'Check the server and the network, or raise `downloads.idleMs` or `downloads.totalMs` in the options of the source.',
  });
}

function cannotChange(file: SourceFile): Error {
  return sourceFault(`${file.label} can neither be moved nor deleted: a web server only gives files.`, {
    suggestion: 'Remove `after` from the stream.',
  });
}

/** The limits of a transfer. */
interface TransferLimits {
  idleMs: number;
  totalMs: number;
}

interface Watch extends TransferLimits {
  signal: AbortSignal;
  /** Ends the transfer at once. The error of the transfer after that is ignored. */
  stop(): void;
  /** The error for a limit that was reached. */
  tooSlow(limit: keyof TransferLimits): Error;
}

/**
 * Waits for a transfer, and stops it when no data comes, when it takes too long, or when it is aborted. Libraries do
 * not notice if the other end of a connection has disappeared: there is neither data nor an error.
 *
 * @param work calls `alive` whenever data has arrived
 */
async function watched<T>(work: (alive: () => void) => Promise<T>, watch: Watch): Promise<T> {
  const { signal, idleMs, totalMs } = watch;
  signal.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const stop = (error: unknown) => {
    stopped.reject(error);
    watch.stop();
  };
  const onAbort = () => stop(signal.reason);
  const idle = setTimeout(() => stop(watch.tooSlow('idleMs')), idleMs);
  const total = setTimeout(() => stop(watch.tooSlow('totalMs')), totalMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work(() => idle.refresh()), stopped.promise]);
  } finally {
    clearTimeout(idle);
    clearTimeout(total);
    signal.removeEventListener('abort', onAbort);
  }
}
