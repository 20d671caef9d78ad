// The mark is a small file beside a ledger. It contains the ledger's id and its count of commits.

import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCodeOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { makeDurableFolder, syncFolder } from '../store/durable-folder.ts';
import { accessFault, makePrivateFile } from '../store/file-access.ts';
import { ledgerPath } from '../store/ledger-path.ts';

/** The content of a mark. */
export interface Mark {
  ledgerId: string;
  /** How many commits the ledger had. */
  generation: number;
}

/** A mark that is open for writing. */
export interface OpenMark {
  /** Overwrites the mark in place. Costs no fsync. */
  write(mark: Mark): void;
  /** Syncs the mark to the disk. */
  sync(): void;
  close(): void;
}

/** Enough digits for any count. Every mark has the same length, so it can be overwritten in place. */
const DIGITS = 16;
const DIGEST_LENGTH = 16;

/** The path of a ledger's mark. */
export function markOf(file: string): string {
  return `${ledgerPath(file)}.mark`;
}

/**
 * Reads the mark beside a ledger. Null if there is no mark, or if the mark is unreadable.
 *
 * @throws Fault `ledger.unwritable` when this process may not open it
 */
export function readMark(file: string): Mark | null {
  let text: string;
  try {
    text = readFileSync(markOf(file), 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null;
    throw accessFault(`${file}.mark`, error);
  }
  const [ledgerId = '', digits = ''] = text.split(' ');
  const mark = { ledgerId, generation: Number(digits) };
  // A power cut may leave a part of the mark. The digest detects that.
  return Number.isSafeInteger(mark.generation) && markText(mark) === text ? mark : null;
}

/**
 * Writes the mark of a ledger and syncs both its content and its name. A readable mark is overwritten in place, so the
 * ledger is never without a mark.
 *
 * @throws Fault `ledger.unwritable` when the mark cannot be written
 */
export function writeMark(file: string, first: Mark): OpenMark {
  try {
    makeDurableFolder(dirname(file));
    const path = markOf(file);
    makePrivateFile(path);
    const handle = openSync(path, readMark(file) === null ? 'w' : 'r+');
    const mark: OpenMark = {
      write: (said) => void writeSync(handle, markText(said), 0),
      sync: () => fsyncSync(handle),
      close: () => closeSync(handle),
    };
    try {
      mark.write(first);
      mark.sync();
      syncFolder(dirname(path));
    } catch (error) {
      mark.close();
      throw error;
    }
    return mark;
  } catch (error) {
    throw accessFault(`${file}.mark`, error);
  }
}

function markText({ ledgerId, generation }: Mark): string {
  const said = `${ledgerId} ${String(generation).padStart(DIGITS, '0')}`;
  return `${said} ${sha256Hex(said).slice(0, DIGEST_LENGTH)}\n`;
}
