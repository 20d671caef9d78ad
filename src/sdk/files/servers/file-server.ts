import type { Entry } from '../file-store.ts';
import type { NameFilter } from '../glob.ts';
import type { SourceFile } from '../source-file.ts';

/** How the bytes of a download are given to the store that asked for it. */
export interface DownloadTarget {
  /** An empty file of this machine, which is overwritten. */
  path: string;
  /** Called with the number of bytes received so far, each time some were received. It throws if they are too many. */
  progress(bytes: number): void;
}

/** A server of files; each protocol has its own. Every error is a `sourceFault`. */
export interface FileServer {
  stat(path: string, signal: AbortSignal): Promise<Entry | null>;
  /** @param alive is called with every part of a listing that comes in parts */
  list(folder: string, wanted: NameFilter, signal: AbortSignal, alive: () => void): Promise<Entry[]>;
  download(file: SourceFile, target: DownloadTarget, signal: AbortSignal): Promise<void>;
  /** Absent where a server cannot do it. Gives false where something has the path already. */
  move?: (file: SourceFile, path: string, signal: AbortSignal) => Promise<boolean>;
  remove?: (file: SourceFile, signal: AbortSignal) => Promise<void>;
  /** Ends the transfer under way at once; it then fails. */
  interrupt(): void;
  close(): Promise<void>;
}
