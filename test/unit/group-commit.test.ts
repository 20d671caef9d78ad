import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Sqlite } from '../../src/ledger/database.ts';
import { createGroupCommit } from '../../src/ledger/group-commit.ts';
import { covers } from '../support/reliability.ts';

describe('the group commit', () => {
  let db: Sqlite;
  beforeEach(() => {
    db = new Database(':memory:');
    db.exec('CREATE TABLE facts (name TEXT)');
  });
  afterEach(() => db.close());

  it(
    'tells whoever waits of a disk that fails the rollback as well, and goes on once it is well',
    covers('disk-error', 'I8'),
    async () => {
      const failure = (what: string) => Object.assign(new Error(what), { code: 'SQLITE_IOERR_WRITE' });
      let rollbacksThatFail = 1;
      const failing: Pick<Sqlite, 'prepare'> & { readonly inTransaction: boolean } = {
        get inTransaction() {
          return db.inTransaction;
        },
        prepare: ((sql: string) => {
          const statement = db.prepare(sql);
          if (sql !== 'ROLLBACK') return statement;
          return {
            run() {
              rollbacksThatFail -= 1;
              if (rollbacksThatFail >= 0) throw failure('disk I/O error on rollback');
              return statement.run();
            },
          };
        }) as Sqlite['prepare'],
      };
      let isFull = true;
      const raise = () => {
        if (isFull) throw failure('disk I/O error');
      };
      const commit = createGroupCommit(failing as Sqlite, {
        highWater: { raise, mirror: () => undefined, close: () => undefined },
        lost: () => null,
      });
      const insert = db.prepare<[string]>('INSERT INTO facts VALUES (?)');
      const write = (name: string) => commit.run(() => insert.run(name).changes);

      await expect(write('lost')).rejects.toMatchObject({ code: 'ledger.unwritable' });
      isFull = false;
      expect(await write('kept')).toBe(1);
      commit.close();
      expect(db.prepare('SELECT name FROM facts').pluck().all()).toEqual(['kept']);
    },
  );
});
