import { createWriteStream } from 'node:fs';
import { Writable } from 'node:stream';
import type { NameFilter } from './location.ts';
import type { SourceFile } from './source-file.ts';

/** An entry of a folder. */
export interface Entry {
  name: string;
  /** `other`: a device, a socket, a queue. */
  kind: 'file' | 'folder' | 'other';
  bytes: number | null;
  version: string;
  /** See `SourceFile`. */
  within?: string;
}

/** A file that can be read on this machine. */
export interface LocalCopy {
  /** The file itself, or a temporary file with its content; the label and the name are those of the file. */
  file: SourceFile & { bytes: number };
  /** Removes the temporary file, if there is one. */
  release(): Promise<void>;
}

/** Where files are: the folders of this machine, or a server. Paths are written with `/` on servers. */
export interface FileStore {
  /** The entry at a path; null if there is none. */
  stat(path: string, signal: AbortSignal): Promise<Entry | null>;
  /**
   * The wanted entries of a folder.
   *
   * @throws a `sourceFault` if there is no such folder, or it may not be read
   */
  list(folder: string, wanted: NameFilter, signal: AbortSignal): Promise<Entry[]>;
  /**
   * Makes the content of a file available on this machine, until the copy is released.
   *
   * @throws a `sourceFault` if the file has changed since it was found
   */
  copy(file: SourceFile, signal: AbortSignal): Promise<LocalCopy>;
  /**
   * Moves a file to another path and makes the folders of that path. Never replaces another file: returns false if
   * there is one.
   */
  move(file: SourceFile, path: string, signal: AbortSignal): Promise<boolean>;
  remove(file: SourceFile, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Where the bytes of a download are written. */
interface DownloadTarget {
  /** The path of an empty file of this machine, which is overwritten. */
  path: string;
  /**
   * Called with the number of bytes received so far, each time data has arrived. It throws if there are too many bytes.
   */
  progress(bytes: number): void;
}

/** A server of files. Each protocol has its own implementation. Every error is a `sourceFault`. */
export interface FileServer {
  stat(path: string, signal: AbortSignal): Promise<Entry | null>;
  /** @param alive called for each part of a listing that comes in parts */
  list(folder: string, wanted: NameFilter, signal: AbortSignal, alive: () => void): Promise<Entry[]>;
  download(file: SourceFile, target: DownloadTarget, signal: AbortSignal): Promise<void>;
  /** Absent if the server cannot move files. Returns false if the path is already in use. */
  move?: (file: SourceFile, path: string, signal: AbortSignal) => Promise<boolean>;
  remove?: (file: SourceFile, signal: AbortSignal) => Promise<void>;
  /** Ends the present transfer at once, which then fails. */
  interrupt(): void;
  close(): Promise<void>;
}

/** The stream that a download is written to. It fails if the target or the disk accepts no more bytes. */
export function createSink(target: DownloadTarget): Writable {
  let bytes = 0;
  const file = createWriteStream(target.path, { mode: 0o600 });
  // The callback of a write reports its failure, so the event needs no further handling.
  file.on('error', () => undefined);
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      try {
        target.progress(bytes);
      } catch (error) {
        done(error as Error);
        return;
      }
      file.write(chunk, done);
    },
    final: (done) => void file.end(done),
    destroy(error, done) {
      file.destroy();
      done(error);
    },
  });
}
