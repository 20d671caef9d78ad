import { CommanderError } from 'commander';
import { fault } from '../domain/faults.ts';
import { capitalised } from '../lib/errors.ts';
import { type Failure, failureOf as failureOfThrown } from '../operations/outcome-fault.ts';
import { type ErrorDocument, errorDocument } from '../operations/results.ts';
import { printable } from './text/style.ts';

/**
 * Converts an error to the form that people and scripts get. A mistake in the command line is bad usage.
 *
 * @param help the command that shows how the command line is written
 */
export function failureOf(error: unknown, help = 'dpp-sync --help'): Failure {
  if (!(error instanceof CommanderError)) return failureOfThrown(error);
  return failureOfThrown(fault('usage', usageMessage(error), { suggestion: `See \`${help}\`.` }));
}

/** The JSON document of a failure, `{"ok": false, "error": {…}}`, which the interface contract defines. */
export function failureDocument(failure: Failure): { ok: false; error: ErrorDocument } {
  return { ok: false, error: errorDocument(failure) };
}

/** Lines for people: the problem, its place in the config, and what to do. */
export function failureLines({ path, message, suggestion }: Failure): string[] {
  const [first = '', ...rest] = message.split('\n').map(printable);
  const inConfig = path === null || message.includes(path) ? [] : [`  in the config: ${printable(path)}`];
  const cure = suggestion === null || message.includes(suggestion) ? [] : [`  ${printable(suggestion)}`];
  return [`error: ${first}`, ...rest, ...inConfig, ...cure];
}

/** The stack of an error and its causes, for the log at debug level. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by: ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}

/** For a command, or a form of it, in which no person has to confirm anything. */
export const ASKS_NOTHING = 'The command does not ask here, so leave out --yes.';

function usageMessage({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'No command was given.';
  const plain = message
    .replace(/^error: /, '')
    .replace(/\s*\n\((Did you mean .*\?)\)$/, '. $1')
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*?)'/, "the argument <$2> cannot be '$1'")
    .replace(/^option '(.*?)' argument '(.*)' is invalid/, "the option '$1' cannot be '$2'");
  const sentence = capitalised(plain);
  const ended = /[.?!]$/.test(sentence) ? sentence : `${sentence}.`;
  return ended === "Unknown option '--yes'." ? `${ended} ${ASKS_NOTHING}` : ended;
}
