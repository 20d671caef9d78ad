import type { Writable } from 'node:stream';
import type { Environment } from '../../config/environment.ts';
import { systemCodeOf } from '../../lib/errors.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import { createPaint, type Paint, wantsColour } from './style.ts';

/** A standard stream of the process. */
export type Terminal = Writable & { isTTY?: boolean; columns?: number };

export interface OutputOptions {
  stdout: Terminal;
  stderr: Terminal;
  env: Environment;
  secrets: SecretStore;
  json: boolean;
  quiet: boolean;
}

/**
 * What a command says. Results go to stdout; errors, notes and progress go to stderr. With `--json` stdout carries the
 * document and nothing else. All of it passes through the secret store (I7), but for what `reveal` is told to show.
 */
export interface Output {
  json: boolean;
  quiet: boolean;
  /** Colours for stdout. */
  paint: Paint;
  /** The width of the terminal that shows stdout; null where it is none. */
  width: number | null;
  /** True where somebody watches stderr in a terminal. */
  watched: boolean;
  /** Prints lines of a result for people. Nothing with `--json`. */
  print(...lines: string[]): void;
  /** The same without scrubbing: for keys that were made for the reader here and now. */
  reveal(...lines: string[]): void;
  /** The one JSON document of a command. `reveal` for a document that is there to hand out keys. */
  document(value: object, options?: { reveal: boolean }): void;
  /** A line of a stream of JSON documents. Resolves when the reader takes more; false once it has gone away. */
  jsonLine(value: object): Promise<boolean>;
  /** The same for lines of a long listing for people. */
  listLine(line: string): Promise<boolean>;
  /** Bytes of a result that is no text, as they are. Resolves as `jsonLine` does. */
  bytes(chunk: Uint8Array): Promise<boolean>;
  /** Says something beside the result. Nothing with `--quiet`. */
  note(line: string): void;
  /** Says what went wrong. */
  error(line: string): void;
  /** A line of the log. */
  log(line: string): void;
  /** While set, what goes to stderr is handed over instead, so that it can be placed above progress bars. */
  divert(write: ((text: string) => void) | null): void;
}

export function createOutput(options: OutputOptions): Output {
  const { stdout, stderr, env, secrets, json, quiet } = options;
  let gone = false;
  let diverted: ((text: string) => void) | null = null;

  // A reader that has seen enough (`| head`) closes the pipe, and a terminal that is closed takes nothing any more (EIO):
  // neither is an error, and what is under way is finished without a reader.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: unknown) => {
      const code = systemCodeOf(error);
      const hasNoReader = code === 'EPIPE' || (code === 'EIO' && stream.isTTY === true);
      if (!hasNoReader) throw error;
      if (stream === stdout) gone = true;
    });
  }

  const toStdout = (text: string | Uint8Array): boolean => (gone ? true : stdout.write(text));
  const toStderr = (line: string): void => {
    const text = secrets.scrub(line);
    if (diverted) diverted(text);
    else stderr.write(`${text}\n`);
  };
  const scrubbed = (value: object): string =>
    JSON.stringify(value, (_, member: unknown) => (typeof member === 'string' ? secrets.scrub(member) : member));

  async function streamed(text: string | Uint8Array): Promise<boolean> {
    if (!toStdout(text)) {
      await new Promise<void>((resolve) => {
        const done = () => {
          stdout.off('drain', done);
          stdout.off('close', done);
          stdout.off('error', done);
          resolve();
        };
        stdout.on('drain', done).on('close', done).on('error', done);
      });
    }
    return !gone;
  }

  return {
    json,
    quiet,
    paint: createPaint(!json && wantsColour(stdout, env)),
    width: stdout.isTTY === true ? (stdout.columns ?? null) : null,
    watched: stderr.isTTY === true && env['TERM'] !== 'dumb',
    print(...lines) {
      if (!json) for (const line of lines) toStdout(`${secrets.scrub(line)}\n`);
    },
    reveal(...lines) {
      if (!json) for (const line of lines) toStdout(`${line}\n`);
    },
    document(value, { reveal } = { reveal: false }) {
      toStdout(`${reveal ? JSON.stringify(value) : scrubbed(value)}\n`);
    },
    jsonLine: (value) => streamed(`${scrubbed(value)}\n`),
    listLine: (line) => streamed(`${secrets.scrub(line)}\n`),
    bytes: streamed,
    note(line) {
      if (!quiet) toStderr(line);
    },
    error: toStderr,
    log: toStderr,
    divert(write) {
      diverted = write;
    },
  };
}
