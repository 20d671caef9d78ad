// Reads the tables of a SQLite file as bytes. SQLite itself would make the files -wal and -shm beside a database of another
// program. The format is described at https://www.sqlite.org/fileformat.html.

import { closeSync, openSync, readSync } from 'node:fs';

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** The schema of a usual database has a few pages. */
const PAGES_MAX = 1_000;
const INTERIOR_PAGE = 5;
const LEAF_PAGE = 13;

/** What distinguishes a ledger from the database of another program. */
export interface DatabaseContent {
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
