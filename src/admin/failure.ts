import { fault } from '../domain/faults.ts';
import { ledgerFaultOf } from '../ledger/store/ledger-fault.ts';
import { Fault, messageOf } from '../lib/errors.ts';

/** What a command ends with when it fails, as plain JSON. */
export interface Failure {
  exitCode: number;
  code: string;
  /** Where in the config, or null. */
  path: string | null;
  message: string;
  suggestion: string | null;
}

/**
 * An error as people and scripts get it. What SQLite reports of the ledger's file becomes a `Fault`; anything else that is
 * none is a defect here, and ends with exit code 1.
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

/** The error again that a failure was made of, in another process. */
export function faultOf({ exitCode, code, path, message, suggestion }: Failure): Fault {
  return new Fault(code, exitCode, message, {
    ...(path === null ? {} : { path }),
    ...(suggestion === null ? {} : { suggestion }),
  });
}
