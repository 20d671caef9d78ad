import { CommanderError } from 'commander';
import { fault } from '../domain/faults.ts';
import { ledgerFaultOf } from '../ledger/ledger-fault.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import { printable } from './style.ts';

/** What a command ends with when it fails. */
export interface Failure {
  exitCode: number;
  code: string;
  /** Where in the config, or null. */
  path: string | null;
  message: string;
  suggestion: string | null;
}

/**
 * An error as people and scripts get it. What SQLite says of the ledger's file becomes a `Fault`; anything else that is
 * none is a defect here, and ends with exit code 1.
 */
export function failureOf(error: unknown): Failure {
  if (error instanceof Fault) {
    const { exitCode, code, path, message, suggestion } = error;
    return { exitCode, code, path: path ?? null, message, suggestion: suggestion ?? null };
  }
  if (error instanceof CommanderError) {
    return failureOf(
      fault('usage', usageMessage(error), { suggestion: 'See `dpp-sync --help`, or `dpp-sync COMMAND --help`.' }),
    );
  }
  const ledgerFault = ledgerFaultOf(error);
  if (ledgerFault !== null) return failureOf(ledgerFault);
  return failureOf(
    fault('internal', `Something happened that dpp-sync is not prepared for: ${messageOf(error)}`, {
      suggestion: 'Run the command again with --log-level debug to see where it happened.',
    }),
  );
}

/** `{"ok": false, "error": {…}}` as the interface contract has it. */
export function failureDocument(failure: Failure): { ok: false; error: ErrorDocument } {
  return { ok: false, error: errorDocument(failure) };
}

export interface ErrorDocument {
  code: string;
  path: string | null;
  message: string;
}

export function errorDocument({ code, path, message, suggestion }: Failure): ErrorDocument {
  return { code, path, message: withSuggestion(message, suggestion) };
}

/** Lines for people: what went wrong, where in the config, and what to do. */
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

function withSuggestion(message: string, suggestion: string | null): string {
  return suggestion === null || message.includes(suggestion) ? message : `${message} ${suggestion}`;
}

function usageMessage({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'No command was given.';
  const plain = message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  const sentence = plain.charAt(0).toUpperCase() + plain.slice(1);
  return /[.?!)]$/.test(sentence) ? sentence : `${sentence}.`;
}
