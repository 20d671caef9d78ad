// How a ledger that was put back from an older copy is told from one that went on.
//
// The ledger counts its commits. The number is mirrored in a small file beside it, after the commit and never before, so that
// the mark is at or behind its own ledger after any crash, and ahead only of an older copy. A mark that was lost or lags,
// as after a power cut, recognises less and never too much. A backup made by `dpp-sync ledger backup` says itself that it is one.

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { fault } from '../domain/faults.ts';
import { Fault, messageOf, systemCodeOf } from '../lib/errors.ts';
import { sha256Hex } from '../lib/hash.ts';
import type { Sqlite } from './database.ts';
import { ledgerPlace } from './ledger-place.ts';
import { createMeta } from './meta.ts';

/** The mark beside a ledger: which ledger it belongs to, and how far that has come. */
export interface Mark {
  ledgerId: string;
  generation: number;
}

/** Keeps the number of commits, in the ledger and in its mark. */
export interface HighWater {
  /** Counts a commit, and gives the number. For use inside its transaction. */
  raise(): number;
  /** Mirrors the number of a transaction in the mark, once that is durable. Costs no fsync. */
  mirror(generation: number): void;
  /** Brings the mark to the disk and lets go of it; a second call changes nothing. */
  close(): void;
}

/** Digits enough for any count, so that every mark has the same length and is overwritten in place. */
const DIGITS = 16;
const DIGEST_LENGTH = 16;

/**
 * Takes up the count of a ledger that is open for writing.
 *
 * @throws Fault `ledger.unwritable` when the mark cannot be written
 */
export function createHighWater(db: Sqlite, file: string, ledgerId: string): HighWater {
  const count = db
    .prepare<[], number>(
      `INSERT INTO meta (name, value) VALUES ('generation', '1')
       ON CONFLICT DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING CAST(value AS INTEGER)`,
    )
    .pluck();
  // A transaction of its own: `get` alone does not tell whether its commit failed, and the mark would be ahead of it.
  const first = db.transaction(() => count.get() ?? 0).immediate();
  const handle = writable(() => openSync(markOf(file), openFlags(file), 0o600));

  let closed = false;

  function write(generation: number): void {
    writeSync(handle, markText({ ledgerId, generation }), 0);
  }
  try {
    writable(() => {
      write(first);
      fsyncSync(handle);
    });
  } catch (error) {
    closeSync(handle);
    throw error;
  }
  return {
    raise: () => count.get() ?? first,
    mirror(generation) {
      try {
        write(generation);
      } catch (error) {
        // What was committed stands, and whoever waits for it hears so: a mark that lags is written again by the next commit.
        if (systemCodeOf(error) === undefined) throw error;
      }
    },
    close() {
      if (closed) return;
      closed = true;
      try {
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
    },
  };
}

/**
 * Refuses a ledger that is an older copy of what was there.
 *
 * @throws Fault `ledger.restored`
 */
export function assertNotRestored(db: Sqlite, file: string): void {
  const meta = createMeta(db);
  const backupAt = meta.get('backup_at');
  if (backupAt !== null) {
    throw restoredFault(`The ledger ${file} is a backup of ${backupAt}`);
  }
  const mark = readMark(file);
  const generation = Number(meta.get('generation') ?? '0');
  if (mark === null || mark.ledgerId !== meta.get('id') || generation >= mark.generation) return;
  throw restoredFault(`The ledger ${file} is an older copy of the one that was here, or has lost its -wal file`);
}

/**
 * Refuses to begin anew where a ledger has been: all that it knew of the API would be unknown.
 *
 * @throws Fault `ledger.restored`
 */
export function assertNotGone(file: string): void {
  const isThere = existsSync(file) && statSync(file).size > 0;
  if (isThere || readMark(file) === null) return;
  throw fault(
    'ledger.restored',
    `The ledger ${file} is gone or empty, and the mark beside it says that there was one.`,
    {
      path: 'ledger',
      suggestion: `Put it back, or run \`dpp-sync ledger restore BACKUP\`. To begin anew all the same, which creates everything once more that the API does not refuse, remove ${markOf(file)}.`,
    },
  );
}

function restoredFault(what: string): Error {
  return fault('ledger.restored', `${what}: what was written to the API since is unknown to it.`, {
    path: 'ledger',
    suggestion:
      'If the later ledger still exists, put it back. Else run `dpp-sync ledger restore`, which has everything looked up at the API before it is written again.',
  });
}

/** The mark beside a ledger; null where there is none, or none that can be understood. */
export function readMark(file: string): Mark | null {
  let text: string;
  try {
    text = readFileSync(markOf(file), 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null;
    throw markFault(error);
  }
  const [ledgerId = '', digits = ''] = text.split(' ');
  const mark = { ledgerId, generation: Number(digits) };
  // A power cut may leave a part of it: its digest tells.
  return Number.isSafeInteger(mark.generation) && markText(mark) === text ? mark : null;
}

function markText({ ledgerId, generation }: Mark): string {
  const said = `${ledgerId} ${String(generation).padStart(DIGITS, '0')}`;
  return `${said} ${sha256Hex(said).slice(0, DIGEST_LENGTH)}\n`;
}

function markOf(file: string): string {
  return `${ledgerPlace(file)}.mark`;
}

/** A mark that is understood is overwritten in place, so that there is no moment without one; any other begins anew. */
function openFlags(file: string): string {
  return readMark(file) === null ? 'w' : 'r+';
}

function writable<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw markFault(error);
  }
}

function markFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return fault('ledger.unwritable', `The mark beside the ledger cannot be used: ${messageOf(error)}.`, {
    path: 'ledger',
    suggestion: 'Check that the folder may be written, that the files in it are yours, and that the disk is not full.',
    cause: error,
  });
}
