import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { paddedKeys } from '../../../src/ledger/items/content.ts';
import { readSchema } from '../../../src/ledger/schema.ts';
import { openDatabase } from '../../../src/ledger/upgrade/open.ts';
import { versionAfter } from '../../../src/ledger/upgrade-steps.ts';
import { createFrozenLedger, versionOf } from '../../support/ledger/frozen-ledger.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

let folder: string;
let fresh: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-schema-'));
  fresh = join(folder, 'fresh.db');
  openDatabase(fresh).close();
});
afterEach(() => removeFolder(folder));

type Row = Record<string, unknown>;

/** Reads from a file without the code under test. */
function read<T>(file: string, use: (db: Database.Database) => T): T {
  const db = new Database(file, { readonly: true });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** The text of a statement without comments, names of constraints and the choice of white space. */
function normalized(sql: string): string {
  return sql
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/CONSTRAINT \w+ /g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([(),]) ?/g, '$1')
    .trim();
}

/** The statements of the tables, indexes and views of a database, by type and name. */
function schemaOf(db: Database.Database): Record<string, string | null> {
  const rows = db
    .prepare<[], { name: string; sql: string | null }>("SELECT type || ' ' || name AS name, sql FROM sqlite_schema")
    .all();
  return Object.fromEntries(
    rows
      .filter(({ name }) => !name.includes('sqlite_stat'))
      .map(({ name, sql }) => [name, sql === null ? null : normalized(sql)]),
  );
}

function rowsOf(db: Database.Database): Record<string, Row[]> {
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  return Object.fromEntries(tables.map((table) => [table, db.prepare<[], Row>(`SELECT * FROM "${table}"`).all()]));
}

describe('schema.sql', () => {
  it('schema.sql is what a new ledger has: tables, indexes, views and rows', () => {
    const written = new Database(':memory:');
    written.exec(readSchema());
    read(fresh, (db) => {
      expect(schemaOf(db)).toEqual(schemaOf(written));
      expect(rowsOf(db)).toEqual(rowsOf(written));
    });
    written.close();
    expect(versionOf(fresh)).toBe(versionAfter());
  });

  it('schema.sql is what a ledger of the first version has after the steps, rows included', () => {
    const old = join(folder, 'old.db');
    createFrozenLedger(old);
    openDatabase(old).close();
    const upgraded = read(old, (db) => ({ schema: schemaOf(db), rows: rowsOf(db) }));
    read(fresh, (db) => {
      expect(upgraded.schema).toEqual(schemaOf(db));
      for (const [table, rows] of Object.entries(rowsOf(db))) {
        const columns = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?) WHERE pk > 0').pluck();
        const key = columns.all(table);
        const keyOf = (row: Row) => JSON.stringify(key.map((name) => row[name]));
        expect({ table, keys: upgraded.rows[table]?.map(keyOf) }).toEqual({
          table,
          keys: expect.arrayContaining(rows.map(keyOf)),
        });
      }
    });
    expect(versionOf(old)).toBe(versionAfter());
  });

  it('schema.sql has no settings of SQLite, and a name for each key of several columns', () => {
    expect(readSchema()).not.toMatch(/\bPRAGMA\b/i);
    const keys = readSchema().match(/^ {2}.*\b(?:UNIQUE|PRIMARY KEY) \(.*$/gm) ?? [];
    expect(keys.length).toBeGreaterThan(10);
    expect(keys.filter((line) => !/^ {2}CONSTRAINT \w+ (?:UNIQUE|PRIMARY KEY) \(/.test(line))).toEqual([]);
  });

  it('schema.sql has the index of padded keys in the words of the statement that uses it', () => {
    const db = openDatabase(fresh);
    // SQLite refuses a named index that a statement cannot use.
    expect(paddedKeys({ db })).toEqual([]);
    db.close();
  });
});
