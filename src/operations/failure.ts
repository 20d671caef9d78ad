import { fault } from '../domain/faults.ts';
import { ledgerFaultOf } from '../ledger/store/ledger-fault.ts';
import { Fault, messageOf } from '../lib/errors.ts';

/** The error of a command, as plain JSON. */
export interface Failure {
  exitCode: number;
  code: string;
  /** The place in the config, or null. */
  path: string | null;
  message: string;
  suggestion: string | null;
}

/**
 * Converts an error to the form that people and scripts get. An error of SQLite about the ledger's file becomes a
 * `Fault`. Any other error that is not a `Fault` is a defect of the program, with exit code 1.
 */
export function failureOf(error: unknown): Failure {
  const known = error instanceof Fault ? error : ledgerFaultOf(error);
  if (known === null) {
    return failureOf(
      fault('internal', `Something happened that dpp-sync is not prepared for: ${messageOf(error)}`, {
        suggestion: 'Run the command again with --log-level debug to see where it happened.',
      }),
    );
  }
  const { exitCode, code, path, message, suggestion } = known;
  return { exitCode, code, path: path ?? null, message, suggestion: suggestion ?? null };
}

/** Makes a fault from a failure of another process. */
export function faultOf({ exitCode, code, path, message, suggestion }: Failure): Fault {
  return new Fault(code, exitCode, message, {
    ...(path === null ? {} : { path }),
    ...(suggestion === null ? {} : { suggestion }),
  });
}
