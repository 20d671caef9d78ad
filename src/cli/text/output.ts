import type { Writable } from 'node:stream';
import type { Environment } from '../../config/environment.ts';
import { systemCodeOf } from '../../lib/errors.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import { fit } from './fit.ts';
import { type OwnStart, withOwnCommands } from './own-hints.ts';
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
  /** How the reader starts this program; asked when a text has a command in it. */
  ownStart: () => OwnStart;
}

/**
 * The output of a command. Results go to stdout; errors, notes and progress go to stderr. With `--json` stdout carries the
 * document and nothing else. The secret store removes secrets from all of it (I7), except from the texts of `reveal`.
 * Lines for people have commands that can be pasted, and fit the width of the terminal.
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
  /** Prints a note beside the result. Nothing with `--quiet`. */
  note(line: string): void;
  /** Prints an error. */
  error(line: string): void;
  /** A line of the log. */
  log(line: string): void;
  /** While set, what goes to stderr is handed over instead, so that it can be placed above progress bars. */
  divert(write: ((text: string) => void) | null): void;
}

export function createOutput(options: OutputOptions): Output {
  const { stdout, stderr, env, secrets, json, quiet, ownStart } = options;
  let gone = false;
  let diverted: ((text: string) => void) | null = null;

  // A reader that has seen enough (`| head`) closes the pipe, and a closed terminal takes nothing any more (EIO).
  // Neither is an error: the command finishes its work without a reader.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: unknown) => {
      const code = systemCodeOf(error);
      const hasNoReader = code === 'EPIPE' || (code === 'EIO' && stream.isTTY === true);
      if (!hasNoReader) throw error;
      if (stream === stdout) gone = true;
    });
  }

  const toStdout = (text: string | Uint8Array): boolean => (gone ? true : stdout.write(text));
  const forPeople = (line: string, stream: Terminal): string => {
    const text = withOwnCommands(secrets.scrub(line), ownStart);
    return stream.isTTY === true && stream.columns ? fit(text, stream.columns).join('\n') : text;
  };
  const toStderr = (text: string): void => {
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
      if (!json) for (const line of lines) toStdout(`${forPeople(line, stdout)}\n`);
    },
    reveal(...lines) {
      if (!json) for (const line of lines) toStdout(`${line}\n`);
    },
    document(value, { reveal } = { reveal: false }) {
      toStdout(`${reveal ? JSON.stringify(value) : scrubbed(value)}\n`);
    },
    jsonLine: (value) => streamed(`${scrubbed(value)}\n`),
    listLine: (line) => streamed(`${forPeople(line, stdout)}\n`),
    bytes: streamed,
    note(line) {
      if (!quiet) toStderr(forPeople(line, stderr));
    },
    error: (line) => toStderr(forPeople(line, stderr)),
    log: (line) => toStderr(secrets.scrub(line)),
    divert(write) {
      diverted = write;
    },
  };
}
