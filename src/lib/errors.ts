import { fileURLToPath } from 'node:url';

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

/**
 * A limit of this machine or process that was reached, so that no other system is at fault. `what` and `cure` are full sentences.
 */
export interface LocalTrouble {
  what: string;
  cure: string;
}

// Texts by error code. Sources: "Common system errors" in the documentation of Node, and errno(3).
const TROUBLES: Readonly<Record<string, LocalTrouble>> = {
  EMFILE: {
    what: 'This process has as many files and connections open as it may (EMFILE).',
    cure: 'Raise its limit: `ulimit -n`, `LimitNOFILE=` of a systemd unit, or `--ulimit nofile=` of a container.',
  },
  ENFILE: {
    what: 'This machine has as many files open as it can (ENFILE).',
    cure: 'Raise `fs.file-max`, or find the program that has so many files open.',
  },
  ENOBUFS: {
    what: 'This machine has no memory left for network buffers (ENOBUFS).',
    cure: 'Find the program that has so many connections open, or give the machine more memory.',
  },
  ENOMEM: { what: 'This machine has no memory left (ENOMEM).', cure: 'Free memory, or give the machine more memory.' },
  EADDRNOTAVAIL: {
    what: 'This machine has no local address or port left for a connection (EADDRNOTAVAIL).',
    cure: 'Find the program that has so many connections open, or widen `net.ipv4.ip_local_port_range`.',
  },
};

/** The limit of this machine that an error reports; null for every other error. */
export function localTroubleOf(error: unknown): LocalTrouble | null {
  const code = systemCodeOf(error);
  return code !== undefined && Object.hasOwn(TROUBLES, code) ? (TROUBLES[code] ?? null) : null;
}

/**
 * Why a module could not be imported: a clause without a full stop. For a mistake in the text of a module, the clause
 * has the file and the line.
 */
export function importReasonOf(error: unknown): string {
  const reason = messageOf(error).replace(/\.$/, '');
  const place = error instanceof SyntaxError ? placeOf(error) : null;
  return place === null ? reason : `${place}: ${reason}`;
}

/**
 * True if Node read an ES module as CommonJS, because of the nearest package.json, such as the one that `npm init`
 * makes.
 */
export function isEsModuleReadAsCommonJs(error: unknown): boolean {
  return (
    error instanceof SyntaxError &&
    /^(?:Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside a module)$/.test(
      error.message,
    )
  );
}

/**
 * Node writes the file and the line before the message in the stack; for an ES module Node shows them only on the
 * terminal.
 */
function placeOf({ stack }: Error): string | null {
  const [, file, line] = /^(file:.+|\/.+|[A-Za-z]:\\.+):(\d+)\n/.exec(stack ?? '') ?? [];
  if (file === undefined || line === undefined) return null;
  return `${file.startsWith('file:') ? fileURLToPath(file) : file}, line ${line}`;
}

/** Makes a sentence from a text of another program: adds a full stop if the text has no punctuation at its end. */
export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** A text with a capital first letter, as at the start of a sentence. */
export function capitalised(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/**
 * The result of a step that can fail because of bad data. Problems of data are values; only broken assumptions throw.
 */
export type Result<T, E> = { ok: true; value: T } | { ok: false; error: E };

export function ok<T>(value: T): { ok: true; value: T } {
  return { ok: true, value };
}

export function err<E>(error: E): { ok: false; error: E } {
  return { ok: false, error };
}

/** Runs all steps, even if some of them fail. Then throws the first failure. */
export async function closeInOrder(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
