// Recognises a ledger among other files, before anything is changed.

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { fault } from '../../domain/faults.ts';
import { type Fault, systemCodeOf } from '../../lib/errors.ts';
import { type Sqlite, tablesOf, versionOf } from '../store/database.ts';
import { FIRST_VERSION, STEPS, type UpgradeStep, versionAfter } from '../upgrade-steps.ts';
import { ledgerPath } from './file.ts';

/** Tables that the ledgers of all versions have. */
const TABLES = ['meta', 'streams', 'records', 'items'];
/** How many tables of another program the message names. */
const TABLES_SHOWN = 3;
/** The last commit that upgrades ledgers of the versions before the first one of `schema.sql`. */
const UPGRADES_OLDER = '3296a033d5e19be9a460c8494374b1a1e028e5c3';

/**
 * Refuses a file that is not a ledger, a ledger of a newer version, or one that is too old to be upgraded. Changes neither the
 * file nor its folder. An empty file becomes a ledger, because a process that was killed may have left it.
 *
 * A file with a lock beside it is not read here, because this process may have it open. `assertLedgerContent` checks it after
 * it was opened.
 *
 * @throws Fault `ledger.unreadable`, `ledger.newer` or `ledger.older`
 */
export function assertLedgerFile(file: string, steps: readonly UpgradeStep[] = STEPS): void {
  if (!existsSync(file)) return;
  const place = ledgerPath(file);
  const stats = statSync(place);
  if (!stats.isFile() || stats.size === 0 || existsSync(`${place}.lock`)) return;
  const content = read(place);
  if (content === 'other') throw notALedgerFault(file, 'it is no database of SQLite');
  if (content !== null) assertLedgerContent(content, file, steps);
}

/**
 * Refuses the database of another program, a ledger of a newer version, or one that is too old to be upgraded.
 *
 * @throws Fault `ledger.unreadable`, `ledger.newer` or `ledger.older`
 */
export function assertLedgerContent(
  { version, tables }: DatabaseContent,
  file: string,
  steps: readonly UpgradeStep[] = STEPS,
): void {
  if (version === 0 && tables.length === 0) return;
  if (version === 0 || !TABLES.every((name) => tables.includes(name))) {
    const named = tables.slice(0, TABLES_SHOWN).join(', ');
    const has = tables.length === 0 ? '' : `, with the tables ${named}${tables.length > TABLES_SHOWN ? ', …' : ''}`;
    throw notALedgerFault(file, `it is a database of another program${has}`);
  }
  if (version > versionAfter(steps)) throw newerFault(file);
  if (version < FIRST_VERSION) throw tooOldFault(file);
}

/** The content of an open database. */
export function contentOf(db: Sqlite): DatabaseContent {
  return { version: versionOf(db), tables: tablesOf(db).map(({ name }) => name) };
}

export function notALedgerFault(file: string, why: string, cause?: unknown): Fault {
  return fault('ledger.unreadable', `The file ${file} is not a ledger: ${why}. It was not changed.`, {
    path: 'ledger',
    suggestion: 'Name a file of its own in `ledger`, which dpp-sync makes, or put the right file back from a backup.',
    ...(cause === undefined ? {} : { cause }),
  });
}

function newerFault(file: string): Fault {
  return fault('ledger.newer', `The ledger ${file} was written by a newer version of dpp-sync.`, {
    path: 'ledger',
    suggestion: 'Install that version or a later one, or name another ledger file.',
  });
}

/** The fault of a ledger that this code cannot upgrade. No released version of dpp-sync has made such a ledger. */
function tooOldFault(file: string): Fault {
  return fault(
    'ledger.older',
    `The ledger ${file} was last written by a version of dpp-sync that is too old to be upgraded by this one. It was not changed.`,
    {
      path: 'ledger',
      suggestion: `Upgrade it with the commit ${UPGRADES_OLDER}: in a clone of dpp-sync, run \`git checkout ${UPGRADES_OLDER}\` and \`npm ci\`, and then \`npm run -s dpp-sync -- replay --dry-run -c CONFIG\`, which sends nothing. A backup is upgraded when you restore it with that commit.`,
    },
  );
}

/** Null if this process may not read the file. Then opening it reports why. */
function read(place: string): ReturnType<typeof readSqliteFile> {
  try {
    return readSqliteFile(place);
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error;
    return null;
  }
}

// Reads the tables of a SQLite file as bytes. SQLite itself would make the files -wal and -shm beside a database of another
// program. The format is described at https://www.sqlite.org/fileformat.html.

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** The schema of a usual database has a few pages. */
const PAGES_MAX = 1_000;
const INTERIOR_PAGE = 5;
const LEAF_PAGE = 13;

/** What distinguishes a ledger from the database of another program. */
interface DatabaseContent {
  /** The `user_version`. */
  version: number;
  tables: readonly string[];
}

/**
 * Reads the content of a file without its log, and without any change. Do not call it while this process has the file open
 * with SQLite: closing any handle of a file ends the locks of the process on it.
 *
 * @returns `other` for a file that is no database of SQLite; null for a database whose pages cannot be read in this way, such
 *   as a damaged one
 */
export function readSqliteFile(path: string): DatabaseContent | 'other' | null {
  const handle = openSync(path, 'r');
  try {
    const header = readAt(handle, 0, HEADER_BYTES);
    if (header === null || header.toString('latin1', 0, MAGIC.length) !== MAGIC) return 'other';
    const tables = readTables(handle, header);
    return tables === null ? null : { version: header.readInt32BE(60), tables };
  } finally {
    closeSync(handle);
  }
}

function readTables(handle: number, header: Buffer): string[] | null {
  const stated = header.readUInt16BE(16);
  const pageBytes = stated === 1 ? 65_536 : stated;
  const tables: string[] = [];
  const pages = [1];
  try {
    for (let at = 0; at < pages.length; at++) {
      const number = pages[at] ?? 0;
      const page = number < 1 || at >= PAGES_MAX ? null : readAt(handle, (number - 1) * pageBytes, pageBytes);
      if (page === null) return null;
      const start = number === 1 ? HEADER_BYTES : 0;
      const type = page[start];
      if (type !== LEAF_PAGE && type !== INTERIOR_PAGE) return null;
      const first = start + (type === LEAF_PAGE ? 8 : 12);
      for (let cell = 0; cell < page.readUInt16BE(start + 3); cell++) {
        const offset = page.readUInt16BE(first + 2 * cell);
        if (type === INTERIOR_PAGE) pages.push(page.readUInt32BE(offset));
        else tables.push(...tableIn(page, offset));
      }
      if (type === INTERIOR_PAGE) pages.push(page.readUInt32BE(start + 8));
    }
    return tables;
  } catch (error) {
    // An offset outside the page.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The name of the table that a row of the schema describes; nothing for an index or a view. */
function tableIn(page: Buffer, offset: number): string[] {
  const [, afterLength] = varint(page, offset);
  const [, record] = varint(page, afterLength);
  const [headerBytes, afterSize] = varint(page, record);
  const [typeSerial, afterType] = varint(page, afterSize);
  const [nameSerial] = varint(page, afterType);
  const nameAt = record + headerBytes + textBytes(typeSerial);
  const type = page.toString('utf8', record + headerBytes, nameAt);
  return type === 'table' ? [page.toString('utf8', nameAt, nameAt + textBytes(nameSerial))] : [];
}

function textBytes(serial: number): number {
  return Math.max(0, (serial - 13) / 2);
}

/** A number of up to nine bytes, and the offset after it. Numbers of a schema are small. */
function varint(page: Buffer, offset: number): [value: number, next: number] {
  let value = 0;
  for (let at = offset; at < offset + 9; at++) {
    const byte = page.readUInt8(at);
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return [value, at + 1];
  }
  throw new RangeError('The number is too long.');
}

/** Null if the file ends before. */
function readAt(handle: number, position: number, bytes: number): Buffer | null {
  const buffer = Buffer.alloc(bytes);
  return readSync(handle, buffer, 0, bytes, position) === bytes ? buffer : null;
}
