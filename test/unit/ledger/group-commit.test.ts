import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fault } from '../../../src/domain/faults.ts';
import type { Sqlite } from '../../../src/ledger/store/database.ts';
import { createGroupCommit } from '../../../src/ledger/store/group-commit.ts';
import { covers } from '../../support/docs/reliability.ts';
import { ledgerContext } from '../../support/ledger/context.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

describe('the group commit', () => {
  let db: Sqlite;
  beforeEach(() => {
    db = new Database(':memory:');
    db.exec('CREATE TABLE facts (name TEXT)');
  });
  afterEach(() => db.close());

  it(
    'the group commit reports a disk that fails the rollback too to every waiting call, and continues once the disk is well',
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
      const clock = createManualClock();
      let isFull = true;
      const raise = () => {
        if (isFull) throw failure('disk I/O error');
        return 1;
      };
      const commit = createGroupCommit(ledgerContext({ db: failing as Sqlite, clock }), {
        highWater: { raise, mirror: () => undefined },
        log: { sync: () => Promise.resolve() },
        lost: () => null,
      });
      const insert = db.prepare<[string]>('INSERT INTO facts VALUES (?)');
      const write = (name: string) => commit.run(() => insert.run(name).changes);

      await expect(write('lost')).rejects.toMatchObject({ code: 'ledger.unwritable' });
      expect(commit.refused()).toMatchObject({ code: 'ledger.unwritable' });
      isFull = false;
      expect(await write('kept')).toBe(1);
      // Another, larger write may still be refused, and is tried again every second.
      expect(commit.refused()).toMatchObject({ code: 'ledger.unwritable' });
      clock.advance(5000);
      expect(commit.refused()).toBeNull();
      await commit.close();
      expect(db.prepare('SELECT name FROM facts').pluck().all()).toEqual(['kept']);
    },
  );

  /** A disk whose syncs end when the test decides. */
  function slowDisk() {
    const syncs: PromiseWithResolvers<void>[] = [];
    const marks: number[] = [];
    let generation = 0;
    const commit = createGroupCommit(ledgerContext({ db }), {
      highWater: { raise: () => ++generation, mirror: (at) => void marks.push(at) },
      log: {
        sync() {
          const reached = Promise.withResolvers<void>();
          syncs.push(reached);
          return reached.promise;
        },
      },
      lost: () => null,
    });
    const told: string[] = [];
    const write = (name: string) => {
      const insert = () => db.prepare<[string]>('INSERT INTO facts VALUES (?)').run(name);
      return commit.run(insert).then(() => void told.push(name));
    };
    const stored = () => db.prepare('SELECT name FROM facts ORDER BY rowid').pluck().all();
    return { commit, syncs, marks, told, write, stored };
  }
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('the group commit reports no write before it is on the disk, and gathers the next ones meanwhile', async () => {
    const { commit, syncs, marks, told, write, stored } = slowDisk();
    const first = write('first');
    await turn();
    const next = [write('second'), write('third')];
    await turn();
    expect({ told, stored: stored(), marks, syncs: syncs.length }).toEqual({
      told: [],
      stored: ['first'],
      marks: [],
      syncs: 1,
    });

    syncs[0]?.resolve();
    await first;
    expect({ told: [...told], marks: [...marks] }).toEqual({ told: ['first'], marks: [1] });
    await turn();
    expect({ told, stored: stored(), syncs: syncs.length }).toEqual({
      told: ['first'],
      stored: ['first', 'second', 'third'],
      syncs: 2,
    });
    const closed = commit.close();
    syncs[1]?.resolve();
    await Promise.all([...next, closed]);
    expect(marks).toEqual([1, 2]);
  });

  it('a wait for the writes ends after the callers of earlier writes have gone on, and not after later ones', async () => {
    const { commit, syncs, told, write } = slowDisk();
    const first = write('first')
      .then(() => Promise.resolve())
      .then(() => void told.push('first went on'));
    await turn();
    const ended = commit.ended().then(() => void told.push('ended'));
    syncs[0]?.resolve();
    await first;
    await turn();
    const later = write('later');
    syncs[1]?.resolve();
    await ended;
    expect(told).toEqual(['first', 'first went on', 'ended']);
    const closed = commit.close();
    await turn();
    syncs[2]?.resolve();
    await Promise.all([later, closed]);
  });

  it('the group commit writes nothing after the disk has failed a commit', covers('disk-error', 'I8'), async () => {
    const { commit, syncs, marks, told, write, stored } = slowDisk();
    const failing = write('failing');
    await turn();
    const waiting = write('waiting');
    syncs[0]?.reject(fault('ledger.unwritable', 'The disk reports an error for the ledger: EIO.'));
    await expect(failing).rejects.toMatchObject({ code: 'ledger.unwritable' });
    await expect(waiting).rejects.toMatchObject({ code: 'ledger.unwritable' });
    await expect(write('later')).rejects.toMatchObject({ code: 'ledger.unwritable' });
    expect(commit.failed()).toMatchObject({ code: 'ledger.unwritable' });
    expect({ told, marks, stored: stored() }).toEqual({ told: [], marks: [], stored: ['failing'] });
    await commit.close();
  });

  it('the group commit has nothing on its way any more once it is closed', async () => {
    const { commit, syncs, marks, write, stored } = slowDisk();
    const writes = [write('under way')];
    await turn();
    writes.push(write('waiting'));
    const closed = commit.close();
    syncs[0]?.resolve();
    await turn();
    syncs[1]?.resolve();
    await closed;
    await Promise.all(writes);
    await turn();
    expect({ stored: stored(), syncs: syncs.length, marks }).toEqual({
      stored: ['under way', 'waiting'],
      syncs: 2,
      marks: [1, 2],
    });
  });

  it('the group commit undoes a write that throws and stores those beside it', async () => {
    const { commit, syncs, write, stored } = slowDisk();
    const beside = [write('before'), write('after')];
    const throwing = commit.run(() => {
      db.prepare("INSERT INTO facts VALUES ('throwing')").run();
      throw new Error('a defect');
    });
    await turn();
    syncs[0]?.resolve();
    await expect(throwing).rejects.toThrow('a defect');
    await Promise.all(beside);
    expect(stored()).toEqual(['before', 'after']);
    await commit.close();
  });
});
