import { sentence } from './text/sentence.ts';

/** The parts of a thrown error besides its message. */
export interface FaultDetails {
  /** The place of the cause in the config, such as `sources[0].streams.boms.path`. */
  path?: string;
  /** What the reader can do next, as a full sentence. */
  suggestion?: string;
  cause?: unknown;
}

/**
 * An error that a person can act on: the environment or a broken assumption, never bad data (that is a `Result`) and
 * never the API's decision (that is an `Outcome`). The codes are registered in `domain/faults.ts`.
 */
export class Fault extends Error {
  readonly code: string;
  readonly exitCode: number;
  readonly path: string | undefined;
  readonly suggestion: string | undefined;

  constructor(code: string, exitCode: number, message: string, details: FaultDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'Fault';
    this.code = code;
    this.exitCode = exitCode;
    this.path = details.path;
    this.suggestion = details.suggestion;
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message of anything that was thrown, and what to do, if the error says it. */
export function messageAndCureOf(error: unknown): string {
  const suggestion = error instanceof Fault ? error.suggestion : undefined;
  return suggestion === undefined ? messageOf(error) : `${sentence(messageOf(error))} ${suggestion}`;
}

const FILE_REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};

/** Why a file could not be read or written, for a message that names the file itself. */
export function fileReasonOf(error: unknown): string {
  const code = systemCodeOf(error) ?? '';
  const reason = FILE_REASONS[code];
  return reason === undefined ? messageOf(error).replace(/\.$/, '') : `${reason} (${code})`;
}

/** The `code` that Node and SQLite put on their errors (`ENOENT`, `SQLITE_BUSY`), or undefined. */
export function systemCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
