// The entries of people in the ledger: the audit log, notes, and values of lookup tables.

import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { Mapper } from '../../../src/domain/mapping.ts';
import type { OwnPassword } from '../../../src/domain/ports/ledger/care-ledger.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { mapperOf } from '../../support/connectors/map-row.ts';
import { items, product } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';
import { createPageWorld, type PageWorld, pagesOf, sourceRow } from '../../support/worlds/page-world.ts';

function rowsOf(file: string, sql: string): unknown[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

describe('the audit log', () => {
  const fixture = useLedger();

  it('the audit log has an action from before it begins, and then its result', async () => {
    const { ledger, clock, file } = fixture;
    const at = clock.now();
    const id = await ledger.beginAction({ who: 'anna', via: 'web', action: 'replay.start', detail: { cause: 'c1' } });
    const stored = 'SELECT at, ended_at, who, via, action, detail, outcome FROM actions';
    const begun = { at, who: 'anna', via: 'web', action: 'replay.start', detail: '{"cause":"c1"}' };
    expect(rowsOf(file, stored)).toEqual([{ ...begun, ended_at: null, outcome: null }]);
    clock.advance(50);
    await ledger.endAction(id, '9 records were mapped again.');
    expect(rowsOf(file, stored)).toEqual([{ ...begun, ended_at: at + 50, outcome: '9 records were mapped again.' }]);
  });

  it('the audit log ends, at the next start, the actions of a killed process', async () => {
    const { ledger, file } = fixture;
    await ledger.beginAction({ who: 'anna', via: 'web', action: 'sync', detail: {} });
    await ledger.recover(0);
    const [action] = rowsOf(file, 'SELECT ended_at, outcome FROM actions') as { ended_at: number; outcome: string }[];
    expect(action?.ended_at).not.toBeNull();
    expect(action?.outcome).toContain('The process ended before this action was complete.');
  });
});

describe('the tasks of people', () => {
  const fixture = useLedger();

  it('the newest 200 tasks are kept in the order of their start, whatever the clock says, and each that still runs', async () => {
    const { ledger } = fixture;
    const task = { name: 'sync', title: 'Run of erp', who: 'anna', outcome: '{"ok":true,"result":null}', version: '1' };
    const running = { ...task, id: 'running', startedAt: 5, endedAt: null, outcome: null };
    await ledger.keepTask(running);
    // The clock was set back: each task begins before the one that came earlier.
    for (let at = 1; at <= 205; at += 1) {
      await ledger.keepTask({ ...task, id: `t${at}`, startedAt: 1000 - at, endedAt: 2000 });
    }
    const kept = await ledger.keptTasks();
    expect(kept.map(({ id }) => id)).toEqual(['running', ...Array.from({ length: 200 }, (_, at) => `t${at + 6}`)]);
    await ledger.keepTask({ ...running, endedAt: 3000, outcome: '{"ok":true,"result":null}' });
    expect((await ledger.keptTasks())[0]?.id).toBe('t6');
  });
});

describe('the pruning of the ledger', () => {
  const fixture = useLedger();

  it('the pruning of the ledger keeps the last hundred thousand actions of the audit log', async () => {
    const db = new Database(fixture.file);
    db.exec(`INSERT INTO actions (id, at, who, via, action, detail) VALUES (1, 1, 'a', 'web', 'x', '{}'),
      (2, 1, 'a', 'web', 'x', '{}'), (100001, 1, 'a', 'web', 'x', '{}')`);
    db.close();
    await fixture.ledger.prune();
    expect(rowsOf(fixture.file, 'SELECT id FROM actions')).toEqual([{ id: 2 }, { id: 100_001 }]);
  });
});

describe('a note on a cause', () => {
  const fixture = useLedger();

  it('a note on a cause is replaced by the next one, and removed by an empty one', async () => {
    const { ledger, file } = fixture;
    const notes = () => rowsOf(file, 'SELECT cause, text, owner, noted_by FROM cause_notes');
    await ledger.noteCause('c1', { text: 'Asked sales.', owner: 'anna', by: 'ben' });
    await ledger.noteCause('c1', { text: 'Sales corrects it.', owner: '', by: 'anna' });
    expect(notes()).toEqual([{ cause: 'c1', text: 'Sales corrects it.', owner: '', noted_by: 'anna' }]);
    await ledger.noteCause('c1', { text: '', owner: '', by: 'anna' });
    expect(notes()).toEqual([]);
  });
});

describe('the password of a user', () => {
  const fixture = useLedger();

  it('the password of a user replaces an earlier one, and is in a backup', async () => {
    const { ledger, file, clock } = fixture;
    const anna = { name: 'anna', hash: '$scrypt$1', replaces: 'r1' };
    await ledger.setPassword(anna);
    await ledger.setPassword({ name: 'ben', hash: '$scrypt$2', replaces: 'r2' });
    await ledger.setPassword({ ...anna, hash: '$scrypt$3' });
    const now = [
      { ...anna, hash: '$scrypt$3' },
      { name: 'ben', hash: '$scrypt$2', replaces: 'r2' },
    ];
    expect(await ledger.passwords()).toEqual(now);
    const to = `${file}.copy`;
    backUpLedger({ file, to, force: false, now: clock.now(), onStep: () => undefined });
    expect(rowsOf(to, 'SELECT name, hash, replaces FROM passwords')).toEqual(now);
    expect(verifyLedger(to, () => undefined)?.findings).toEqual([]);
  });

  it('the password of a user is deleted unless the user has replaced it since', async () => {
    const { ledger } = fixture;
    const own = (name: string): OwnPassword => ({ name, hash: `$scrypt$${name}`, replaces: 'r1' });
    const [anna, ben] = [own('anna'), own('ben')];
    const later = { ...ben, hash: '$scrypt$later' };
    for (const password of [anna, later]) await ledger.setPassword(password);
    await ledger.dropPasswords([anna, ben]);
    expect(await ledger.passwords()).toEqual([later]);
  });
});

describe('a run', () => {
  const fixture = useLedger();

  it('a run keeps the name of the person who asked for it', async () => {
    const { ledger, file } = fixture;
    const start = { source: 'erp', trigger: 'cli', streams: ['default'], mappingRevision: 'r1' } as const;
    await ledger.startRun({ ...start, streams: ['default'], askedBy: 'anna' });
    expect(rowsOf(file, 'SELECT asked_by FROM runs')).toEqual([{ asked_by: 'anna' }]);
  });
});

describe('a record in quarantine', () => {
  const fixture = useLedger();
  const issue = { code: 'country.unknown' as const, message: 'No.', field: 'country_of_origin', value: 'Narnia' };
  const bad = { status: 'quarantined' as const, issues: [issue], blockedProducts: ['1'] };
  const since = () => rowsOf(fixture.file, 'SELECT quarantined_at AS at FROM records');

  it('a record in quarantine keeps the time since when it is there, until it is mapped', async () => {
    const { ledger, clock } = fixture;
    const at = clock.now();
    await stageRows(ledger, { 1: bad });
    clock.advance(1000);
    await stageRows(ledger, { 1: { ...bad, issues: [issue, issue] } });
    expect(since()).toEqual([{ at }]);
    await stageRows(ledger, { 1: items(product('1')) });
    expect(since()).toEqual([{ at: null }]);
  });
});

describe('a value that a person adds to a lookup table', () => {
  let world: PageWorld;
  afterEach(() => world.remove());
  const lookups = { names: { source: 'pim', stream: 'default', key: ['code'], value: 'name' } };
  const pim: Mapper = { revision: 'pim', streams: [], map: () => ({ status: 'excluded' }) };

  async function given(codes: readonly string[], names: JsonObject[]): Promise<void> {
    const mapper = await mapperOf(
      [
        {
          stream: 'default',
          to: 'product',
          key: 'row.id',
          fields: { sku: 'row.id', name: 'lookup("names", row.code)' },
        },
      ],
      import.meta.dirname,
      { lookups },
    );
    world = await createPageWorld({ sources: ['erp', 'pim'] });
    await world.ledger.defineLookups(new Map([['erp', mapper.lookups ?? []]]), { isAll: true });
    const pages = (list: JsonObject[]) =>
      pagesOf(
        list.map((fields, at) => sourceRow(fields, at + 1)),
        10,
      );
    await world.pull({ source: 'pim', pages: pages(names), mapper: pim });
    await world.pull({ source: 'erp', pages: pages(codes.map((code, at) => ({ id: String(at + 1), code }))), mapper });
    await settle();
  }
  async function settle(): Promise<void> {
    while (world.ledger.pendingSources().length > 0) await world.mapStored('erp');
  }
  const named = () => {
    const { items: found } = world.ledger.views.itemsAfter({ kind: 'product', afterId: 0, limit: 100 });
    return Object.fromEntries(found.map(({ key, name }) => [key, name]));
  };
  const set = (key: string, value: string) => world.ledger.setLookupValue({ lookup: 'names', key, value, by: 'anna' });

  it("a value that a person adds to a lookup table maps again only the records with its key, and wins over the table's row", async () => {
    await given(['A', 'B', 'A'], [{ id: 'x', code: 'B', name: 'of the table' }]);
    expect(named()).toEqual({ '2': 'of the table' });
    expect(await set('A', 'by hand')).toEqual({ records: 2 });
    expect(await set('A', 'by hand')).toEqual({ records: 0 });
    await settle();
    expect(named()).toEqual({ '1': 'by hand', '2': 'of the table', '3': 'by hand' });
    expect(await set('B', 'corrected')).toEqual({ records: 1 });
    await settle();
    expect(named()).toMatchObject({ '2': 'corrected' });
  });

  it('a value that a person has removed from a lookup table gives way to the row of the table again', async () => {
    await given(['B'], [{ id: 'x', code: 'B', name: 'of the table' }]);
    await set('B', 'corrected');
    await settle();
    expect(await world.ledger.removeLookupValue('names', 'B')).toEqual({ records: 1 });
    await settle();
    expect(named()).toEqual({ '1': 'of the table' });
  });

  it('a value for a table that no mapping uses is refused, and the message names the tables that there are', async () => {
    await given([], []);
    await expect(world.ledger.setLookupValue({ lookup: 'nmaes', key: 'A', value: 'a', by: 'anna' })).rejects.toThrow(
      expect.objectContaining({ code: 'lookup.unknown', suggestion: 'Name one of these tables: names.' }),
    );
  });
});
