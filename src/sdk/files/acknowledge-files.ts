// Keeps, archives or deletes files after they were read and stored.

import { extname } from 'node:path';
import type { Logger } from '../../lib/logging/logging.ts';
import { sourceFault } from '../connector.ts';
import type { FileStream } from './file-options.ts';
import type { FileStore } from './file-store.ts';
import { matchingFiles, semaphoresOf } from './find-files.ts';
import { type Location, matchesSegments } from './location.ts';
import type { SourceFile } from './source-file.ts';

/** The files that a stream has read to the end, in this run or before. */
export interface StreamRead {
  name: string;
  stream: FileStream;
  location: Location;
  store: FileStore;
  /** The files by their paths. */
  read: ReadonlyMap<string, SourceFile>;
  /** True if no file gave a record and the options may be the reason. Then no stream deletes these files. */
  mayBeMisread: boolean;
}

const NAMES_MAX = 10_000;

/**
 * Archives or deletes the files of which every stream has read the present version. The files are listed again: a file
 * that has appeared meanwhile, or was changed since it was read, stays for the next run, even if only one of two
 * streams has not read it. Each file is moved or deleted separately, so a crash between two files does no harm: the
 * other files are read again.
 *
 * @param passed the names of the streams whose reads were stored and not held by the guard
 */
export async function acknowledgeFiles(
  reads: readonly StreamRead[],
  { passed, log, signal }: { passed: readonly string[]; log: Logger; signal: AbortSignal },
): Promise<void> {
  if (reads.every(({ stream }) => stream.after === 'keep')) return;
  const done = new Set<string>();
  const present = new Map<StreamRead, Map<string, SourceFile>>();
  for (const read of reads) {
    const files = await matchingFiles(read.store, read.location, signal);
    present.set(read, new Map(files.map((file) => [file.label, file])));
  }
  const fileOf = (read: StreamRead, label: string): SourceFile | undefined => {
    const file = present.get(read)?.get(label);
    return file === undefined || isSemaphore(read, file) ? undefined : file;
  };
  const isMisread = ({ label }: SourceFile): boolean =>
    reads.some((one) => one.mayBeMisread && fileOf(one, label) !== undefined);
  /**
   * Every stream whose pattern matches the file must have read this version of it, and its read must have been
   * accepted.
   */
  const allows = (read: StreamRead, label: string): boolean => {
    const file = fileOf(read, label);
    if (file === undefined) return true;
    return passed.includes(read.name) && read.read.get(file.path)?.version === file.version;
  };
  // A file that one stream archives and another deletes is archived, so its content is not lost.
  const willing = reads.filter(({ stream }) => stream.after !== 'keep');
  for (const read of willing.toSorted((a, b) => (a.stream.after < b.stream.after ? -1 : 1))) {
    const files = [...(present.get(read)?.values() ?? [])].filter(
      (file) => !done.has(file.label) && !isSemaphore(read, file) && reads.every((one) => allows(one, file.label)),
    );
    const staying = read.stream.after === 'delete' ? files.filter(isMisread) : [];
    const leaving = files.filter((file) => !staying.includes(file));
    const [first] = staying;
    if (first !== undefined) log.warn({ stream: read.name }, notDeleted(first, staying.length));
    const semaphores = await semaphoresFor(read, leaving, signal);
    for (const file of leaving) {
      signal.throwIfAborted();
      done.add(file.label);
      // The file is moved before its semaphore: a semaphore without a file does no harm, but a file without its
      // semaphore would wait for ever.
      await carryOut(read, file, { log, signal });
      const semaphore = semaphores.get(file.path);
      if (semaphore !== undefined) await carryOut(read, semaphore, { log, signal });
    }
  }
}

function notDeleted({ label }: SourceFile, count: number): string {
  const files = count === 1 ? `${label} is` : `${label} and ${count - 1} more are`;
  return `${files} not deleted, because a stream that reads the same files found no record.`;
}

async function semaphoresFor(read: StreamRead, files: readonly SourceFile[], signal: AbortSignal) {
  const { done } = read.stream;
  return done === undefined
    ? new Map<string, SourceFile>()
    : await semaphoresOf(files, { store: read.store, location: read.location, done }, signal);
}

function isSemaphore({ stream: { done } }: StreamRead, file: SourceFile): boolean {
  return done !== undefined && file.path.endsWith(done);
}

async function carryOut(
  { name, stream, location, store }: StreamRead,
  file: SourceFile,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<void> {
  if (stream.after === 'delete') {
    await withFault(file, 'deleted', () => store.remove(file, signal));
    log.info({ stream: name, file: file.label }, `${file.label} was read and is deleted.`);
    return;
  }
  const folder = location.resolveFolder(stream.archive ?? '');
  const path = await withFault(file, 'archived', async () => {
    for (let number = 1; number <= NAMES_MAX; number += 1) {
      const to = (folder === '' ? '' : `${folder.replace(/\/$/, '')}/`) + numbered(file.name, number);
      if (await store.move(file, to, signal)) return to;
    }
    throw new Error(`the archive has ${NAMES_MAX} files of this name`);
  });
  log.info({ stream: name, file: file.label }, `${file.label} was read and is now ${location.label(path)}.`);
}

async function withFault<T>(file: SourceFile, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && error.name === 'Fault') throw error;
    throw sourceFault(`${file.label} was read and cannot be ${what}: ${error instanceof Error ? error.message : ''}.`, {
      suggestion: 'Check the rights of the folders. The next pull reads the file again and tries this again.',
      cause: error,
    });
  }
}

/** `products.csv`, `products-2.csv`, `products-3.csv`; an extension of two parts such as `.csv.gz` stays together. */
function numbered(name: string, number: number): string {
  if (number === 1) return name;
  const slash = name.lastIndexOf('/') + 1;
  const base = name.slice(slash);
  const inner = /\.(?:gz|zip|done)$/i.test(base)
    ? extname(base.slice(0, -extname(base).length)) + extname(base)
    : extname(base);
  return `${name.slice(0, slash)}${base.slice(0, base.length - inner.length)}-${number}${inner}`;
}

/** @throws a `sourceFault` for settings that contradict each other, or with which archived files would be read again */
export function assertSettings(stream: FileStream, location: Location): void {
  const { after, archive } = stream;
  if (after === 'archive' && archive === undefined) {
    throw sourceFault('`after: archive` needs the folder that files are moved to.', {
      suggestion: 'Name the folder as `archive`, for example `archive: ./read`.',
    });
  }
  if (after !== 'archive' && archive !== undefined) {
    throw sourceFault(`\`archive\` has no effect with \`after: ${after}\`.`, {
      suggestion: 'Set `after: archive`, or remove `archive`.',
    });
  }
  if (after !== 'keep' && (location.server?.scheme === 'https' || location.server?.scheme === 'http')) {
    throw sourceFault(`${location.pattern} can neither be moved nor deleted: a web server only gives files.`, {
      suggestion: 'Remove `after` from the stream.',
    });
  }
  if (archive === undefined || !location.isPattern) return;
  const folder = location.resolveFolder(archive).replace(/\/$/, '');
  const root = location.folder.replace(/\/$/, '');
  const below =
    root === '' ? folder : folder === root ? '' : folder.startsWith(`${root}/`) ? folder.slice(root.length + 1) : null;
  if (below === null) return;
  // A sample path that the pattern matches. The pattern must not match it in the archive as well.
  const sample = location.segments.map((segment) => segment.replaceAll('*', 'x').replaceAll('?', 'x')).join('/');
  const archived = below === '' ? sample : `${below}/${sample}`;
  if (!matchesSegments(archived, location.segments)) return;
  throw sourceFault(`The pattern ${location.pattern} also matches files in the folder ${archive} for archived files.`, {
    suggestion: 'Name another folder, so that archived files are not read again.',
  });
}
