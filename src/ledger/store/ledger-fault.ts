import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { fault } from '../../domain/faults.ts';
import { type Fault, type LocalTrouble, localTroubleOf, messageOf, systemCodeOf } from '../../lib/errors.ts';

/** The last part of a cure: the fault does not know whether a daemon or another command reports it. */
export const CONTINUES = 'A daemon then continues by itself. Run any other command again.';
export const MAKE_ROOM = `The disk is full: make room on it. ${CONTINUES}`;

/** SQLite's word for what an error is about, such as BUSY; empty for an error of anything else. */
function troubleOf(error: unknown): string {
  // An extended code begins with its primary code: SQLITE_IOERR_WRITE, SQLITE_CORRUPT_INDEX.
  return /^SQLITE_([A-Z]+)(?:_|$)/.exec(systemCodeOf(error) ?? '')?.[1] ?? '';
}

/** True if SQLite reports this trouble. */
export function isTrouble(
  error: unknown,
  trouble: 'BUSY' | 'CANTOPEN' | 'CORRUPT' | 'FULL' | 'IOERR' | 'NOTADB' | 'READONLY',
): boolean {
  return troubleOf(error) === trouble;
}

/**
 * The fault of a ledger that cannot be used because of a limit of this machine or process; null for any other error.
 *
 * @param file the ledger's path, if the caller knows it
 */
export function limitFaultOf(error: unknown, file?: string): Fault | null {
  const limit = localTroubleOf(error) ?? (isTrouble(error, 'CANTOPEN') ? openTrouble() : null);
  if (limit === null) return null;
  return fault('ledger.unwritable', `${ledgerNamed(file)} cannot be used: ${limit.what}`, {
    path: 'ledger',
    suggestion: `${limit.cure} ${CONTINUES}`,
    cause: error,
  });
}

const ledgerNamed = (file: string | undefined) => (file === undefined ? 'The ledger' : `The ledger ${file}`);

/** How many files SQLite opens at once for a ledger, with some more. */
const FILES_AT_ONCE = 8;

/**
 * SQLite does not report why it cannot open a file. So this opens other files, which fails if the process is at its limit. The
 * failed attempt may have closed some files meanwhile, so one file is not enough.
 */
function openTrouble(): LocalTrouble | null {
  const opened: number[] = [];
  try {
    while (opened.length < FILES_AT_ONCE) opened.push(openSync(devNull, 'r'));
    return null;
  } catch (error) {
    return localTroubleOf(error);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/**
 * Translates an error of SQLite, or a limit of this machine, into a fault with a cure. Null for all other errors. Null for a
 * wrong statement too, because that is a defect of this code.
 *
 * @param file the ledger's path, if the caller knows it
 */
export function ledgerFaultOf(error: unknown, file?: string): Fault | null {
  const limit = limitFaultOf(error, file);
  if (limit !== null) return limit;
  const kind = troubleOf(error);
  const details = { path: 'ledger', cause: error };
  switch (kind) {
    case 'CORRUPT':
    case 'NOTADB':
      return fault('ledger.unreadable', `${ledgerNamed(file)} is damaged: ${messageOf(error)}.`, {
        ...details,
        suggestion:
          'Stop every process that uses the ledger, and put a backup in its place: `dpp-sync ledger restore FILE`. `dpp-sync ledger verify` shows what is wrong.',
      });
    case 'FULL':
      return fault('ledger.unwritable', `${ledgerNamed(file)} cannot be written: ${messageOf(error)}.`, {
        ...details,
        suggestion: MAKE_ROOM,
      });
    case 'READONLY':
    case 'CANTOPEN':
    case 'PERM':
      return fault('ledger.unwritable', `${ledgerNamed(file)} cannot be written: ${messageOf(error)}.`, {
        ...details,
        suggestion:
          'Check that the file, the files beside it and their folder may be written, and that the disk is not read-only.',
      });
    case 'IOERR':
      return fault(
        'ledger.unwritable',
        `The disk reports an error for ${file === undefined ? 'the ledger' : `the ledger ${file}`}: ${messageOf(error)}.`,
        {
          ...details,
          suggestion:
            'Check whether the disk is full, read-only or failing, or is a network share that is no longer there.',
        },
      );
    case 'BUSY':
    case 'LOCKED':
      return fault(
        'ledger.held',
        `Another program has ${file === undefined ? "the ledger's file" : file} locked: ${messageOf(error)}.`,
        {
          ...details,
          suggestion: `Close other programs that have the file open, such as a database browser or a backup. ${CONTINUES}`,
        },
      );
    default:
      return null;
  }
}
