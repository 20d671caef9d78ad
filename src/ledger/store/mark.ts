// The mark: a small file beside a ledger that says which ledger was there, and how far that had come.

import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCodeOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { makeDurableFolder, syncFolder } from './durable-folder.ts';
import { accessFault, makePrivateFile } from './file-access.ts';
import { ledgerPlace } from './ledger-place.ts';

/** What a mark says. */
export interface Mark {
  ledgerId: string;
  /** How many commits the ledger had. */
  generation: number;
}

/** A mark that is open for writing. */
export interface OpenMark {
  /** Overwrites it in place. Costs no fsync. */
  write(mark: Mark): void;
  /** Brings it to the disk. */
  sync(): void;
  close(): void;
}

/** Digits enough for any count, so that every mark has the same length and is overwritten in place. */
const DIGITS = 16;
const DIGEST_LENGTH = 16;

/** Where the mark of a ledger is. */
export function markOf(file: string): string {
  return `${ledgerPlace(file)}.mark`;
}

/**
 * The mark beside a ledger; null where there is none, or none that can be understood.
 *
 * @throws Fault `ledger.unwritable` when this process may not look at it
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
  // A power cut may leave a part of the mark. The digest shows that.
  return Number.isSafeInteger(mark.generation) && markText(mark) === text ? mark : null;
}

/**
 * Writes the mark of a ledger, so that file and name are on the disk when this returns. A mark that is understood is overwritten
 * in place, so that there is no moment without one.
 *
 * @throws Fault `ledger.unwritable` when it cannot be written
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
