import type { NameFilter } from './glob.ts';
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
