import { extname, resolve } from 'node:path';
import { parse } from 'csv-parse/sync';
import { readBoundedFile } from '../../lib/bounded-file.ts';
import { messageOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { isJsonObject } from '../../lib/json.ts';
import { err, ok, type Result } from '../../lib/result.ts';
import { numberText, shown } from './values.ts';

/** A lookup file in memory. */
export interface LookupTable {
  entries: ReadonlyMap<string, string>;
  /** SHA-256 of the file's text, for the revision. */
  hash: string;
}

const FILE_BYTES_MAX = 16 * 1024 * 1024;
const ENTRIES_MAX = 500_000;

/**
 * Reads a lookup file: CSV with the header `key,value` (or `key;value`, or with a tab), or JSON with one object of texts
 * and numbers. UTF-8. The error is a full sentence.
 *
 * @param file the name as the mapping writes it, relative to `baseDir`
 */
export async function loadLookupTable(file: string, baseDir: string): Promise<Result<LookupTable, string>> {
  const path = resolve(baseDir, file);
  const read = await readBoundedFile(path, FILE_BYTES_MAX);
  if (!read.ok) {
    const { kind, reason } = read.error;
    return err(`The lookup file "${file}" ${reason}${kind === 'missing' ? ` (${path})` : ''}.`);
  }
  const extension = extname(file).toLowerCase();
  if (extension !== '.csv' && extension !== '.json') {
    return err(`The lookup file "${file}" has to be a .csv or a .json file.`);
  }
  const entries = extension === '.csv' ? entriesOfCsv(read.value) : entriesOfJson(read.value);
  if (!entries.ok) return err(`The lookup file "${file}" ${entries.error}`);
  return ok({ entries: entries.value, hash: sha256Hex(read.value) });
}

type Entries = Result<Map<string, string>, string>;

function entriesOfCsv(text: string): Entries {
  const header = /^key([,;\t])value$/i.exec(text.split(/\r?\n/, 1)[0]?.replaceAll('"', '').replaceAll(' ', '') ?? '');
  if (!header) return err('needs the two columns key and value, and a first line that says so: key,value.');
  let rows: unknown;
  try {
    rows = parse(text, { delimiter: header[1] ?? ',', trim: true, skip_empty_lines: true, info: true });
  } catch (error) {
    return err(`is not sound CSV: ${messageOf(error)}.`);
  }
  if (!Array.isArray(rows)) return err('is not sound CSV.');
  const entries = new Map<string, string>();
  for (const row of (rows as { record: string[]; info: { lines: number } }[]).slice(1)) {
    const [key = '', value = ''] = row.record;
    const problem = add(entries, key, value);
    if (problem !== null) return err(`${problem} (line ${row.info.lines}).`);
  }
  return ok(entries);
}

function entriesOfJson(text: string): Entries {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return err(`is not sound JSON: ${messageOf(error)}.`);
  }
  if (!isJsonObject(value)) return err('has to be one JSON object of keys and values.');
  const entries = new Map<string, string>();
  for (const [key, member] of Object.entries(value)) {
    const entry = typeof member === 'number' ? numberText(member) : member;
    if (typeof entry !== 'string')
      return err(`has a value for "${shown(key)}" that is neither text nor a safe number.`);
    const problem = add(entries, key.trim(), entry);
    if (problem !== null) return err(`${problem}.`);
  }
  return ok(entries);
}

function add(entries: Map<string, string>, key: string, value: string): string | null {
  if (entries.size >= ENTRIES_MAX) return `has more than ${ENTRIES_MAX} entries`;
  const before = entries.get(key);
  if (before !== undefined && before !== value) return `has two values for the key "${shown(key)}"`;
  entries.set(key, value);
  return null;
}
