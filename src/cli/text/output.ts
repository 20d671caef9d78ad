import type { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Environment } from '../../config/environment.ts';
import { fault } from '../../domain/faults.ts';
import { type Fault, fileReasonOf, systemCodeOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';
import { plainJson } from '../../lib/text/safe-text.ts';
import { type OwnStart, withOwnCommands } from '../own-command.ts';
import { createPaint, wantsColour } from './style.ts';

/** A standard stream of the process. */
export type Terminal = Writable & { isTTY?: boolean; columns?: number };

export interface OutputOptions {
  stdout: Terminal;
  stderr: Terminal;
  env: Environment;
  secrets: SecretStore;
  json: boolean;
  quiet: boolean;
  /** Returns how the reader starts this program. Called if a text contains a command. */
  ownStart: () => OwnStart;
}

const WARNING = 'warning: ';
const ERROR = 'error: ';

/**
 * The output of a command. Results go to stdout; errors, notes and progress go to stderr. With `--json` stdout has only
 * the document. The secret store removes secrets from all of it (I7), except from the texts of `reveal`. Lines for
 * people fit the width of the terminal, and their commands can be pasted into a shell.
 */
export function createOutput(options: OutputOptions) {
  const { stdout, stderr, env, secrets, json, quiet, ownStart } = options;
  let gone = false;
  let diverted: ((text: string) => void) | null = null;
  let log: Logger | null = null;

  // A reader such as `head` may close the pipe early, and a closed terminal accepts no output (EIO). This is not an
  // error: the command finishes its work without a reader.
  stdout.on('error', (error: unknown) => {
    const code = systemCodeOf(error);
    const hasNoReader = code === 'EPIPE' || (code === 'EIO' && stdout.isTTY === true);
    if (!hasNoReader) throw unwritten(error);
    gone = true;
  });
  // A log that cannot be written, for example on a full disk, stops no daemon. There is no other place to report it.
  stderr.on('error', () => {});

  const toStdout = (text: string | Uint8Array): boolean => (gone ? true : stdout.write(text));
  const forPeople = (line: string, stream: Terminal): string => {
    const text = withOwnCommands(secrets.scrub(line), ownStart);
    const { isTTY, columns } = stream;
    if (isTTY !== true || !columns) return text;
    return text
      .split('\n')
      .flatMap((one) => fit(one, columns))
      .join('\n');
  };
  const watched = stderr.isTTY === true && env['TERM'] !== 'dumb';
  const logged = (line: string, prefix = ''): string =>
    withOwnCommands(line.startsWith(prefix) ? line.slice(prefix.length) : line, ownStart);
  const toStderr = (text: string): void => {
    if (diverted) diverted(text);
    else stderr.write(`${text}\n`);
  };
  const scrubbed = (value: object): string =>
    plainJson(
      JSON.stringify(value, (_, member: unknown) => (typeof member === 'string' ? secrets.scrubValue(member) : member)),
    );

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
    /** Colours for stdout. */
    paint: createPaint(!json && wantsColour(stdout, env)),
    /** The width of the terminal that shows stdout; null if no terminal shows it. */
    width: stdout.isTTY === true ? (stdout.columns ?? null) : null,
    /** True if somebody watches stderr in a terminal. */
    watched,
    /** Prints lines of a result for people. Nothing with `--json`. */
    print(...lines: string[]): void {
      if (!json) for (const line of lines) toStdout(`${forPeople(line, stdout)}\n`);
    },
    /** Like `print`, but without removing secrets: for keys that were just made for the reader. */
    reveal(...lines: string[]): void {
      if (!json) for (const line of lines) toStdout(`${line}\n`);
    },
    /** The one JSON document of a command. `reveal` is for a document that gives keys to the reader. */
    document(value: object, { reveal } = { reveal: false }): void {
      toStdout(`${reveal ? plainJson(JSON.stringify(value)) : scrubbed(value)}\n`);
    },
    /** A line of a stream of JSON documents. Resolves when the reader takes more; false once it has gone away. */
    jsonLine: (value: object) => streamed(`${scrubbed(value)}\n`),
    /** Like `jsonLine`, for lines of a long list for people. */
    listLine: (line: string) => streamed(`${forPeople(line, stdout)}\n`),
    /** Writes the unchanged bytes of a result that a program reads. Resolves like `jsonLine`. */
    bytes: (chunk: Uint8Array) => streamed(chunk),
    /** Prints a note beside the result. Nothing with `--quiet`. */
    note(line: string): void {
      if (quiet) return;
      if (log === null) toStderr(forPeople(line, stderr));
      else if (line.startsWith(WARNING)) log.warn({}, logged(line, WARNING));
      else log.info({}, logged(line));
    },
    /** Prints an error. */
    error(line: string): void {
      if (log === null) toStderr(forPeople(line, stderr));
      else log.error({}, logged(line, ERROR));
    },
    /** A line of the log. */
    log: (line: string) => toStderr(secrets.scrub(line)),
    /**
     * From now on, notes and errors are lines of this log, so that a program can read all of stderr. Not in a terminal,
     * unless `--json` is given.
     */
    toLog(given: Logger): void {
      if (!watched || json) log = given;
    },
    /** While a function is set, it gets the text for stderr, so that the text can be placed above progress bars. */
    divert(write: ((text: string) => void) | null): void {
      diverted = write;
    },
  };
}

export type Output = ReturnType<typeof createOutput>;

function unwritten(error: unknown): Fault {
  return fault('output.unwritable', `The output cannot be written: ${fileReasonOf(error)}.`, {
    cause: error,
    suggestion:
      'Make room, or write the output to another place. What the command was asked to do may be done already.',
  });
}

/** The forms in which `ownCommand` names the program. */
const PROGRAM = String.raw`(?:npm run -s dpp-sync --|node (?:'[^']*launcher\.mjs'|\S*launcher\.mjs)|'[^']*/dpp-sync'|(?:\S*[^\w\s])?dpp-sync)`;
const CONFIG = String.raw`(?:-c (?:'(?:[^']|'\\'')*'|\S+) )?`;
const ARGUMENTS = String.raw`(?: (?:--?[\w-]+(?: [^\s-]+)?|[A-Z]{2,}…?|'[^']*'))*`;
/** A command that is a line by itself, or the end of a line after a colon. */
const LAST = String.raw`(?<=(?:^|: ) *(?:\u001b\[\d+m)?)${PROGRAM} [^,;]*[^,;.]$`;
/**
 * Matches a part of a line that is not divided: a word or a command. People paste commands into a shell, so a command
 * stays on one line. A command is a text between backticks, or a text that names the program.
 */
const PIECE = new RegExp(`\`[^\`]+\`|${LAST}|${PROGRAM} ${CONFIG}[a-z]+${ARGUMENTS}`, 'g');
/** Matches a label with the blanks after it, as in `  state      delivered`. */
const LABEL = /^ *\S+(?: \S+){0,3} {2,}(?=\S)/;
/** Matches the mark of a list entry. The further lines of the entry are indented to its text. */
const MARKED = /^ *(?:error:|warning:|[-✓✗!…→] )/;
const KEPT_SPACE = '\u00a0';

/**
 * Divides a line into lines of limited length, between words. The further lines begin below the first word, or below
 * the text after a label. A word that is too long has a separate line.
 */
export function fit(line: string, width: number): string[] {
  if (visible(line).length <= width) return [line];
  const plain = visible(line);
  const label = LABEL.exec(plain)?.[0].length ?? 0;
  const own = plain.length - plain.trimStart().length;
  const indent = ' '.repeat(
    label > 0 && label <= width / 2 ? label : Math.min(own + (MARKED.test(plain) ? 2 : 0), width / 4),
  );
  const start = line.length - line.trimStart().length;
  const head = line.slice(0, start);
  const lines: string[] = [];
  let current = head;
  let isEmpty = true;
  for (const word of line
    .slice(start)
    .replaceAll(PIECE, (piece) => piece.replaceAll(' ', KEPT_SPACE))
    .split(' ')) {
    if (!isEmpty && visible(`${current} ${word}`).trimEnd().length > width) {
      lines.push(current.trimEnd());
      current = `${indent}${word}`;
    } else current = isEmpty ? `${current}${word}` : `${current} ${word}`;
    isEmpty = false;
  }
  return [...lines, current].map((one) => one.replaceAll(KEPT_SPACE, ' '));
}

function visible(text: string): string {
  return stripVTControlCharacters(text);
}

/** Matches an example, with or without a comment after its command. */
const EXAMPLE = /^( *\$ .*?\S)(?: {2,}(\S.*))?$/;
const HEADING = /^\w+(?: \w+)?:$/;
const COMMENT_INDENT = ' '.repeat(6);

/**
 * A help page in lines of limited length. The words of a paragraph are wrapped again. If a comment has no room after
 * its example, it is put below the example.
 */
export function helpLines(text: string, width: number): string {
  return paragraphsOf(text)
    .flatMap((line) => {
      const [, command, comment] = EXAMPLE.exec(line) ?? [];
      if (line.length <= width || command === undefined) return fit(line, width);
      // A command that people paste is not divided.
      return comment === undefined ? [command] : [command, ...fit(`${COMMENT_INDENT}${comment}`, width)];
    })
    .join('\n');
}

/** Joins the lines of each paragraph of a text to one line. Headings and indented lines stay separate lines. */
function paragraphsOf(text: string): string[] {
  const isProse = (line: string) => /^\S/.test(line);
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const before = lines.at(-1) ?? '';
    if (isProse(line) && isProse(before) && !HEADING.test(before)) lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
  }
  return lines;
}
