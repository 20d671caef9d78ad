import { spawnSync } from 'node:child_process';
import { statSync, symlinkSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { SuspendedWork } from '../../../src/domain/ports/deliveries.ts';
import type { IncomingRecord } from '../../../src/domain/record.ts';
import { acquireLock } from '../../../src/ledger/file/lock.ts';
import { openLedgerReads } from '../../../src/ledger/reads.ts';
import { openDatabase, openDatabaseReadOnly } from '../../../src/ledger/upgrade/open.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimDue, claimOne, deliverAll, delivered, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../../support/ledger/items.ts';
import { createLedgerFixture, FORMS, NO_PASSPORTS, openLedger, useLedger } from '../../support/ledger/ledger.ts';
import { REVISIONS } from '../../support/ledger/ledger-revisions.ts';
import { mapRows, pullAndMap, pullRows, row } from '../../support/ledger/records.ts';

const fixture = useLedger();

const asProduct = (fields: JsonObject): MapResult => items(product(text(fields['id']), text(fields['name'] ?? 'A')));

async function sync(rows: ReturnType<typeof row>[], map: (fields: JsonObject) => MapResult = asProduct) {
  const run = await pullRows(fixture.ledger, { rows });
  const staged = await mapRows(fixture.ledger, map);
  return { ...run, staged, sent: await deliverAll(fixture.ledger) };
}

/** Claims the first due delivery, as a worker does before it sends. */
async function claimFirst(): Promise<number> {
  return (await claimDue(fixture.ledger)).id;
}

describe('intake', () => {
  it('a pull counts a record that the ledger already has as unchanged and does not map it again', async () => {
    await sync([row('1'), row('2')]);
    const again = await sync([row('1'), row('2')]);
    expect(again.changed).toBe(0);
    expect(again.staged.mapped).toBe(0);
    expect(again.sent).toEqual([]);
    expect(fixture.ledger.views.run(again.runId)?.streams[0]).toMatchObject({ read: 2, unchanged: 2, changed: 0 });
  });

  it('a pull accounts for every record that was read', async () => {
    await sync([row('1'), row('2')]);
    const result: Record<string, MapResult> = {
      2: items(product('2', 'new name')),
      3: { status: 'excluded' },
      4: { status: 'quarantined', issues: [{ code: 'row.value', message: 'wrong' }], blockedProducts: [] },
    };
    const { runId } = await sync(
      [row('1'), row('2', { name: 'new' }), row('3'), row('4')],
      ({ id }) => result[text(id)] as MapResult,
    );
    expect(fixture.ledger.views.run(runId)?.streams[0]).toMatchObject({
      read: 4,
      unchanged: 1,
      changed: 1,
      excluded: 1,
      quarantined: 1,
    });
  });

  it('each run accounts for records that another run reads before they were mapped', async () => {
    const first = await pullRows(fixture.ledger, { rows: [row('1'), row('2'), row('3')] });
    const second = await pullRows(fixture.ledger, { rows: [row('1'), row('2', { name: 'new' }), row('3')] });
    await mapRows(fixture.ledger, asProduct);
    const accounts = [first, second].map(({ runId }) => fixture.ledger.views.run(runId)?.streams[0]);
    expect(accounts).toMatchObject([
      { read: 3, unchanged: 0, changed: 3 },
      { read: 3, unchanged: 2, changed: 1 },
    ]);
    expect(fixture.ledger.views.item('product', '2')).toMatchObject({ name: 'new' });
  });

  it('a pull keeps the place of a row true that is read again before it was mapped', async () => {
    await pullRows(fixture.ledger, { rows: [row('1', {}, 3)] });
    await pullRows(fixture.ledger, { rows: [row('1', {}, 50)] });
    const [pending] = await fixture.ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 1 });
    expect(pending?.place).toMatchObject({ line: 50 });
  });

  it('a pull keeps equal rows of a stream without a key apart, however many there are', async () => {
    const rows = Array.from({ length: 50 }, () => row('same'));
    const { runId } = await sync(rows, () => ({ status: 'excluded' }));
    expect(fixture.ledger.views.run(runId)?.streams[0]).toMatchObject({ read: 50, excluded: 50 });
    const again = await pullRows(fixture.ledger, { rows: [...rows, row('same')] });
    expect(again.changed).toBe(1);
  });

  it('a complete read marks records that it no longer has as missing, and finds them again when they come back', async () => {
    await sync([row('1'), row('2'), row('3')]);
    const { missing } = await sync([row('1'), row('3')]);
    expect(missing).toBe(1);
    expect(fixture.ledger.views.item('product', '2')?.missing).toBe(true);
    await sync([row('1'), row('2'), row('3')]);
    expect(fixture.ledger.views.item('product', '2')?.missing).toBe(false);
  });

  it('a read marks nothing as missing when most of an export is gone', async () => {
    await sync([row('1'), row('2'), row('3')]);
    const { guarded } = await sync([row('1')]);
    expect(guarded).toContain('2 of 3 records with items are missing');
    expect(fixture.ledger.views.item('product', '2')?.missing).toBe(false);
  });

  it('a pull writes nothing for a page that changes nothing, and counts it with the next write', async () => {
    const { ledger } = fixture;
    await pullAndMap(ledger, [row('1'), row('2'), row('3')], ({ id }) => items(product(text(id))));
    const streams = ['default'];
    const start = { source: 'erp', trigger: 'cli' as const, streams, mappingRevision: 'r1' };
    const { runId } = await ledger.startRun(start);
    const page = { runId, source: 'erp', stream: 'default', seen: createBitmap(), deferMapping: false };
    const accounts = () => ledger.views.run(runId)?.streams;

    const first = { ...page, records: [row('1'), row('2')], uncounted: 0 };
    expect(await ledger.stagePage(first)).toEqual({ changed: 0, counted: false });
    expect(accounts()).toMatchObject([{ read: 0, unchanged: 0 }]);
    // The row with the id 1 occurs again, so this page is stored, with the count of the rows so far.
    const second = { ...page, records: [row('3'), row('1')], uncounted: 2 };
    expect(await ledger.stagePage(second)).toEqual({ changed: 1, counted: true });
    expect(accounts()).toMatchObject([{ read: 4, unchanged: 3 }]);
    const third = { ...page, records: [row('4')], cursor: { at: 4 }, uncounted: 0 };
    expect(await ledger.stagePage(third)).toEqual({ changed: 1, counted: true });

    const end = {
      ...page,
      read: 12,
      flagItems: true,
      creates: 'decide' as const,
      guard: { maxMissing: 0, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 0 },
    };
    expect(await ledger.endStream({ ...end, uncounted: 7 })).toEqual({ missing: 0, guarded: null, refused: null });
    expect(accounts()).toMatchObject([{ read: 12, unchanged: 10 }]);
  });

  it('a long run stores its count of unchanged records now and then, for people who look at it', async () => {
    const { ledger } = fixture;
    await pullAndMap(ledger, [row('1')], () => ({ status: 'excluded' }));
    const streams = ['default'];
    const { runId } = await ledger.startRun({ source: 'erp', trigger: 'cli', streams, mappingRevision: 'r1' });
    const page = {
      runId,
      source: 'erp',
      stream: 'default',
      seen: createBitmap(),
      deferMapping: false,
      records: [row('1')],
    };
    expect(await ledger.stagePage({ ...page, uncounted: 20_000 })).toEqual({ changed: 0, counted: true });
    expect(ledger.views.run(runId)?.streams).toMatchObject([{ read: 20_001, unchanged: 20_001 }]);
  });

  it('a pull moves the cursor only with its page', async () => {
    const start = {
      source: 'erp',
      trigger: 'cli' as const,
      streams: ['s'],
      mappingRevision: 'r',
    };
    const broken = { ...row('1'), raw: null as unknown as string };
    const pageOf = ({ runId }: { runId: number }, records: IncomingRecord[]) => {
      const seen = createBitmap();
      return { runId, source: 'erp', stream: 's', records, seen, deferMapping: false, cursor: { at: 1 } };
    };
    const first = await fixture.ledger.startRun(start);
    await expect(fixture.ledger.stagePage(pageOf(first, [broken]))).rejects.toThrow();
    const second = await fixture.ledger.startRun(start);
    expect(second.streams['s']?.cursor).toBeNull();
    await fixture.ledger.stagePage(pageOf(second, [row('1')]));
    expect((await fixture.ledger.startRun(start)).streams['s']?.cursor).toEqual({ at: 1 });
  });

  it('a new mapping revision maps all stored records again, also those that are not read again', async () => {
    await sync([row('1'), row('2')]);
    const { changed } = await pullRows(fixture.ledger, { rows: [row('1')], revision: 'r2', snapshot: false });
    expect(changed).toBe(1);
    const staged = await mapRows(fixture.ledger, (fields) => items(product(text(fields['id']), 'mapped again')));
    expect(staged.mapped).toBe(2);
  });

  it('changed rows of a stream without a key wait until it is known which rows are gone', async () => {
    const content = (name: string) => row(`hash of ${name}`, { name });
    const map = ({ name }: JsonObject) => items(product('1', text(name)));
    const others = [content('b'), content('c'), content('d')];
    const mapAll = (fields: JsonObject) =>
      text(fields['name']).length > 1 ? map(fields) : items(product(text(fields['name'])));
    await pullRows(fixture.ledger, { rows: [content('old name'), ...others], deferMapping: true });
    await mapRows(fixture.ledger, mapAll);
    const start = {
      source: 'erp',
      trigger: 'cli' as const,
      streams: ['default'],
      mappingRevision: 'r1',
    };
    const { runId } = await fixture.ledger.startRun(start);
    const seen = createBitmap();
    const records = [content('new name'), ...others];
    await fixture.ledger.stagePage({ runId, source: 'erp', stream: 'default', records, seen, deferMapping: true });
    expect(await fixture.ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 9 })).toEqual([]);
    const guard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
    await fixture.ledger.endStream({
      runId,
      source: 'erp',
      stream: 'default',
      seen,
      read: 4,
      flagItems: true,
      creates: 'decide' as const,
      guard,
    });
    await mapRows(fixture.ledger, mapAll);
    expect(fixture.ledger.views.quarantinedCount()).toBe(0);
    expect(fixture.ledger.views.item('product', '1')).toMatchObject({ name: 'new name', missing: false });
    expect(fixture.ledger.views.run(runId)?.streams[0]).toMatchObject({ read: 4, unchanged: 3, changed: 1 });
  });

  // I5: the counts of each run add up, also if another run has taken over its rows.
  it.each([
    ['reads the same rows', ['1', '2', '3'], 'r1'],
    ['misses a row', ['2', '3'], 'r1'],
    ['misses so many rows that the guard holds it', ['3'], 'r1'],
    ['has another mapping', ['1', '2', '3'], 'r2'],
  ])(
    'a pull counts the rows of an interrupted run of a stream without a key where the next run %s',
    async (_, ids, revision) => {
      const { ledger } = fixture;
      const streams = ['default'];
      const { runId } = await ledger.startRun({ source: 'erp', trigger: 'cli', streams, mappingRevision: 'r1' });
      const page = { runId, source: 'erp', stream: 'default', seen: createBitmap(), deferMapping: true };
      await ledger.stagePage({ ...page, records: [row('1'), row('2'), row('3')] });
      await ledger.endRun({ runId, result: 'interrupted' });
      const next = await pullRows(ledger, { rows: ids.map((id) => row(id)), deferMapping: true, revision });
      await mapRows(ledger, asProduct);
      const countsOf = (run: number) => ledger.views.run(run)?.streams[0];
      expect(countsOf(runId)).toMatchObject({ read: 3, unchanged: 0, changed: 3 });
      expect(countsOf(next.runId)).toMatchObject({ read: ids.length, unchanged: 0, changed: ids.length });
    },
  );

  it('a read counts records that were gone before they were mapped as missing, too', async () => {
    await sync([row('2'), row('3')]);
    await pullRows(fixture.ledger, { rows: [row('1'), row('2'), row('3')] });
    await pullAndMap(fixture.ledger, [row('2'), row('3')], asProduct);
    expect(fixture.ledger.views.item('product', '1')?.missing).toBe(true);
    await sync([row('1'), row('2'), row('3')]);
    expect(fixture.ledger.views.item('product', '1')?.missing).toBe(false);
  });

  it('a missing record stays missing when the mapping changes', async () => {
    const rows = [row('1'), row('2'), row('3')];
    await sync(rows);
    await sync(rows.slice(1));
    await pullRows(fixture.ledger, { rows: rows.slice(1), revision: 'r2' });
    await mapRows(fixture.ledger, asProduct);
    expect(fixture.ledger.views.item('product', '1')?.missing).toBe(true);
  });

  it('an item has the date of the run that has read it, however late it is mapped', async () => {
    const startedAt = fixture.clock.now();
    await pullRows(fixture.ledger, { rows: [row('1')] });
    fixture.clock.advance(60_000);
    await mapRows(fixture.ledger, asProduct);
    const db = openDatabaseReadOnly(fixture.file);
    expect(db?.prepare('SELECT appeared_at FROM items').pluck().get()).toBe(startedAt);
    db?.close();
  });

  it('the ledger forgets records that have long been gone and make nothing', async () => {
    const rows = [row('1'), row('2'), row('3')];
    await sync(rows, ({ id }) => (id === '1' ? { status: 'excluded' } : asProduct({ id: text(id) })));
    await sync(rows.slice(1));
    await fixture.ledger.prune();
    expect((await sync(rows, () => ({ status: 'excluded' }))).changed).toBe(1);
    await sync(rows.slice(1));
    fixture.clock.advance(31 * 24 * 3_600_000);
    await fixture.ledger.prune();
    const db = openDatabaseReadOnly(fixture.file);
    expect(db?.prepare('SELECT key FROM records ORDER BY key').pluck().all()).toEqual(['2', '3']);
    db?.close();
  });

  it('the pruning of the ledger keeps the last part of a long history, each time', async () => {
    const change = (revision: number) => sync([row('1', { name: `name ${revision}` }), row('2')]);
    const history = () => {
      const db = openDatabaseReadOnly(fixture.file);
      const kept = db
        ?.prepare(`SELECT d.revision FROM ${REVISIONS} d JOIN items i ON i.id = d.item_id WHERE i.key = '1'`)
        .pluck();
      const revisions = (kept?.all() ?? []) as number[];
      db?.close();
      return { from: Math.min(...revisions), to: Math.max(...revisions), count: revisions.length };
    };
    for (let revision = 1; revision <= 22; revision += 1) await change(revision);
    await fixture.ledger.prune();
    expect(history()).toEqual({ from: 3, to: 22, count: 20 });
    for (let revision = 23; revision <= 24; revision += 1) await change(revision);
    await fixture.ledger.prune();
    expect(history()).toEqual({ from: 5, to: 24, count: 20 });
  });

  it('the last run that has ended is known while a run is under way, and a run that was killed ends with the next one', async () => {
    const { ledger } = fixture;
    const start = { source: 'erp', trigger: 'cli', streams: [], mappingRevision: '' } as const;
    const { runId } = await ledger.startRun({ ...start, streams: [] });
    await ledger.endRun({ runId, result: 'failed', error: 'away' });
    const killed = await ledger.startRun({ ...start, streams: [] });
    const shown = () => ledger.views.sourceRuns(['erp']);
    expect(shown()).toMatchObject([{ lastRun: { result: null }, lastEnded: { id: runId }, failed: { error: 'away' } }]);
    await ledger.startRun({ ...start, streams: [] });
    expect(shown()).toMatchObject([{ lastRun: { result: null }, lastEnded: { id: killed.runId }, failed: null }]);
    expect(ledger.views.sourceRuns(['pim'])).toMatchObject([{ lastRun: null, lastEnded: null, failed: null }]);
  });

  it('the pruning of the ledger removes runs beyond an age, and never the last one and the last complete one', async () => {
    const { ledger, clock } = fixture;
    const start = { source: 'erp', trigger: 'cli', streams: [], mappingRevision: '' } as const;
    for (const result of ['complete', 'failed', 'failed'] as const) {
      const { runId } = await ledger.startRun({ ...start, streams: [] });
      await ledger.endRun({ runId, result, ...(result === 'failed' ? { error: 'away' } : {}) });
      clock.advance(10 * 24 * 3_600_000);
    }
    const results = () => ledger.views.lastRuns({ source: 'erp', limit: 10 }).map(({ result }) => result);
    await ledger.prune({ keepDays: 35 });
    expect(results()).toEqual(['failed', 'failed', 'complete']);
    await ledger.prune({ keepDays: 5 });
    expect(results()).toEqual(['failed', 'complete']);
  });

  it('the pruning of the ledger keeps the last events of an item, each time', async () => {
    const { ledger, clock } = fixture;
    await pullAndMap(ledger, [row('1')], asProduct);
    const failUpTo = async (last: number, from: number) => {
      for (let at = from; at <= last; at += 1) {
        const reason: Reason = { code: 'reset', message: String(at) };
        const decision = { kind: 'retry', dueAt: clock.now(), spend: true, reason } as const;
        await settleOne(ledger, { id: await claimFirst(), decision });
      }
      await ledger.prune();
    };
    const told = () => {
      const db = openDatabaseReadOnly(fixture.file);
      const messages = (db?.prepare("SELECT detail ->> 'message' FROM events ORDER BY id").pluck().all() ??
        []) as string[];
      db?.close();
      return { from: messages[0], to: messages.at(-1), count: messages.length };
    };
    await failUpTo(53, 1);
    expect(told()).toEqual({ from: '4', to: '53', count: 50 });
    await failUpTo(55, 54);
    expect(told()).toEqual({ from: '6', to: '55', count: 50 });
    await ledger.prune({ keepDays: 1, maxBytes: 1_000_000_000 });
    expect(told().count).toBe(50);
    clock.advance(25 * 3_600_000);
    await ledger.prune({ keepDays: 1 });
    expect(told().count).toBe(0);
    await failUpTo(56, 56);
    await ledger.prune({ maxBytes: 1 });
    expect(told().count).toBe(0);
  });

  it('the ledger ignores a mapping result for a version of the record that is gone', async () => {
    await pullRows(fixture.ledger, { rows: [row('1')] });
    const [old] = await fixture.ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 1 });
    await pullRows(fixture.ledger, { rows: [row('1', { name: 'newer' })] });
    const staged = await fixture.ledger.stage([
      { id: old!.id, version: old!.version, result: items(product('1', 'old')) },
    ]);
    expect(staged.mapped).toBe(0);
    expect(fixture.ledger.views.item('product', '1')).toBeNull();
  });
});

describe('items', () => {
  it('a record that makes the item of another with other content is quarantined, and both places are named', async () => {
    await sync([row('1', { name: 'first' }, 2), row('x', { name: 'second' }, 7)], ({ name }) =>
      items(product('1', text(name))),
    );
    const [record] = fixture.ledger.views.quarantined({ afterId: 0, limit: 10 });
    expect(record?.place.line).toBe(7);
    expect(record?.issues[0]).toMatchObject({ code: 'claim.conflict', other: { line: 2 } });
    expect(record?.issues[0]?.message).toContain('test.csv:2');
    expect(record?.issues[0]?.message).toContain('Only the values of that row are sent.');
    expect(record?.issues[0]?.cure).toBe(
      'Give both rows the same values, remove one of them, or give them different keys.',
    );
    expect(fixture.ledger.views.item('product', '1')?.desired).toMatchObject({ name: 'first' });
  });

  it('a record that makes the same item as another is ignored, and quarantined once the first has changed', async () => {
    const map = ({ name }: JsonObject) => items(product('1', text(name)));
    const first = await sync([row('1', { name: 'same' }), row('x', { name: 'same' })], map);
    expect(first.staged.mapped).toBe(2);
    expect(first.sent).toHaveLength(1);
    await sync([row('1', { name: 'other' }), row('x', { name: 'same' })], map);
    await mapRows(fixture.ledger, map);
    expect(fixture.ledger.views.quarantinedCount()).toBe(1);
  });

  it('an item goes to its other contender when its record makes it no more', async () => {
    const map = ({ name, off }: JsonObject): MapResult =>
      off ? { status: 'excluded' } : items(product('1', text(name)));
    await sync([row('1', { name: 'first' }), row('x', { name: 'second' })], map);
    await sync([row('1', { name: 'first', off: true }), row('x', { name: 'second' })], map);
    await mapRows(fixture.ledger, map);
    expect(fixture.ledger.views.quarantinedCount()).toBe(0);
    expect(fixture.ledger.views.item('product', '1')?.name).toBe('second');
  });

  it('an item goes to its other contender when the record that made it is no longer in the export', async () => {
    const map = ({ name }: JsonObject) => items(product('1', text(name)));
    const others = [row('a', { name: 'a' }), row('b', { name: 'b' })];
    const mapAll = (fields: JsonObject) =>
      fields['id'] === 'a' || fields['id'] === 'b' ? items(product(text(fields['id']))) : map(fields);
    await sync([row('1', { name: 'first' }), ...others], mapAll);
    await sync([row('x', { name: 'second' }), ...others], mapAll);
    expect(fixture.ledger.views.quarantinedCount()).toBe(0);
    expect(fixture.ledger.views.item('product', '1')).toMatchObject({ name: 'second', missing: false });
  });

  const others = ['a', 'b', 'c', 'd'].map((id) => row(id));
  const mapShared = ({ id, name }: JsonObject) =>
    items(others.some(({ identity }) => identity === id) ? product(text(id)) : product('1', text(name)));

  it('an item goes to the row that it kept out, once its own row is gone', async () => {
    const kept = row('x', { name: 'second' });
    await sync([row('1', { name: 'first' }), kept, ...others], mapShared);
    expect(fixture.ledger.views.quarantinedCount()).toBe(1);
    await sync([kept, ...others], mapShared);
    expect(fixture.ledger.views.quarantinedCount()).toBe(0);
    expect(fixture.ledger.views.item('product', '1')).toMatchObject({ name: 'second', missing: false });
  });

  it('an item that another row makes just the same is not missing', async () => {
    const same = row('x', { name: 'same' });
    await sync([row('1', { name: 'same' }), same, ...others], mapShared);
    await sync([same, ...others], mapShared);
    expect(fixture.ledger.views.item('product', '1')).toMatchObject({ missing: false, state: 'delivered' });
  });

  it('a natural key is free once the item that had it is gone', async () => {
    const bySku = ({ id, sku }: JsonObject) =>
      items({ ...product(text(id)), payload: { sku: text(sku) || `S-${text(id)}`, name: 'x' } });
    const later = row('2', { sku: 'SHARED' });
    await sync([row('1', { sku: 'SHARED' }), later, ...others], bySku);
    expect(fixture.ledger.views.quarantinedCount()).toBe(1);
    await sync([later, ...others], bySku);
    expect(fixture.ledger.views.quarantinedCount()).toBe(0);
  });

  it('natural keys that change from item to item in one export are followed', async () => {
    const byCode = ({ id, code }: JsonObject) =>
      items({ ...material(text(id)), payload: { code: text(code), name: 'x' } });
    await sync([row('1', { code: 'C2' }), row('2', { code: 'C1' })], byCode);
    await sync([row('1', { code: 'C1' }), row('2', { code: 'C3' })], byCode);
    await mapRows(fixture.ledger, byCode);
    expect(fixture.ledger.views.quarantinedCount()).toBe(0);
    expect(fixture.ledger.views.item('material', 'C1')?.key).toBe('1');
  });

  it('a record whose own item has its natural key under the former key is quarantined, with `key` of the mapping as the cure', async () => {
    const keyed =
      (prefix: string) =>
      ({ id }: JsonObject) =>
        items({ ...product(`${prefix}${text(id)}`), payload: { sku: `S-${text(id)}`, name: 'x' } });
    await sync([row('1'), ...others], keyed(''));
    await sync([row('1', { name: 'changed' }), ...others], keyed('new-'));
    const [record] = fixture.ledger.views.quarantined({ afterId: 0, limit: 10 });
    const cure = expect.stringContaining('put `key` of the mapping back');
    expect(record?.issues[0]).toMatchObject({ code: 'natural_key.taken', value: 'S-1', cure });
  });

  it('a second item with the natural key of another is quarantined', async () => {
    await sync([row('1'), row('2')], ({ id }) =>
      items({ ...product(text(id)), payload: { sku: 'SAME', name: `N${text(id)}` } }),
    );
    const [record] = fixture.ledger.views.quarantined({ afterId: 0, limit: 10 });
    expect(record?.issues[0]).toMatchObject({
      code: 'natural_key.taken',
      field: 'sku',
      value: 'SAME',
      cure: 'Give each product a sku of its own.',
    });
  });

  it('an item that is excluded before it ever reached the API is dropped', async () => {
    await pullAndMap(fixture.ledger, [row('1')], asProduct);
    await pullAndMap(fixture.ledger, [row('1', { off: true })], () => ({ status: 'excluded' }));
    expect(await deliverAll(fixture.ledger)).toEqual([]);
    expect(fixture.ledger.views.item('product', '1')).toBeNull();
  });

  it('a record that is quarantined later keeps its items', async () => {
    await sync([row('1')]);
    await sync([row('1', { name: '' })], () => ({
      status: 'quarantined',
      issues: [{ code: 'row.value' as const, message: 'wrong' }],
      blockedProducts: [],
    }));
    const item = fixture.ledger.views.item('product', '1');
    expect(item?.missing).toBe(false);
    expect(item?.record?.quarantined).toHaveLength(1);
  });
});

describe('deliveries', () => {
  const asMaterial = (fields: JsonObject): MapResult =>
    items(material(text(fields['id']), text(fields['name'] ?? 'A')));

  it('an update is sent with only the fields that differ', async () => {
    await sync([row('1')], asMaterial);
    const { sent } = await sync([row('1', { name: 'B' })], asMaterial);
    expect(sent).toEqual([{ operation: 'material.update', key: '1', body: '{"name":"B"}' }]);
  });

  it('a changed product is shown as blocked where an import does not update, with the reason', async () => {
    await fixture.reopen({ productUpdate: 'none' });
    await sync([row('1')]);
    const { sent } = await sync([row('1', { name: 'B' })]);
    expect(sent).toEqual([]);
    expect(fixture.ledger.views.item('product', '1')).toMatchObject({
      state: 'blocked',
      reason: { code: 'unsupported' },
    });
  });

  it('a change back while B is in flight ends with A at the API', covers('changed-amid', 'I3', 'I4'), async () => {
    await sync([row('1', { name: 'A' })], asMaterial);
    await pullAndMap(fixture.ledger, [row('1', { name: 'B' })], asMaterial);
    const id = await claimFirst();
    await pullAndMap(fixture.ledger, [row('1', { name: 'A' })], asMaterial);
    expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
    await settleOne(fixture.ledger, { id, decision: delivered() });
    const sent = await deliverAll(fixture.ledger);
    expect(sent).toEqual([{ operation: 'material.update', key: '1', body: '{"name":"A"}' }]);
    expect(fixture.ledger.views.item('material', '1')).toMatchObject({ state: 'delivered', baseline: { name: 'A' } });
  });

  it('nothing is sent when a change is taken back before it was sent', async () => {
    await sync([row('1', { name: 'A' })], asMaterial);
    await pullAndMap(fixture.ledger, [row('1', { name: 'B' })], asMaterial);
    expect(fixture.ledger.views.item('material', '1')?.state).toBe('due');
    const { sent } = await sync([row('1', { name: 'A' })], asMaterial);
    expect(sent).toEqual([]);
    expect(fixture.ledger.views.item('material', '1')?.state).toBe('delivered');
  });

  it('a delivery commits its bytes at its first claim and is never encoded again', async () => {
    let calls = 0;
    const encode = () => {
      calls += 1;
      return { path: `/${calls}`, body: `{"call":${calls}}` };
    };
    const own = createLedgerFixture({ encode });
    onTestFinished(() => own.remove());
    const { ledger } = own;
    await pullAndMap(ledger, [row('1')], asMaterial);
    const [due] = await ledger.dueDeliveries({ afterId: 0, limit: 1 });
    const reason: Reason = { code: 'throttled', message: 'slow down' };
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const claim = await claimOne(ledger, due!.id);
      expect(claim).toMatchObject({ path: '/1', body: '{"call":1}' });
      await settleOne(ledger, { id: due!.id, decision: { kind: 'retry', dueAt: 0, spend: false, reason } });
    }
  });

  it('a new revision supersedes unsent deliveries, and no sent one', covers('changed-amid', 'I3'), async () => {
    await pullAndMap(fixture.ledger, [row('1', { name: 'A' })], asMaterial);
    const [first] = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 1 });
    await pullAndMap(fixture.ledger, [row('1', { name: 'B' })], asMaterial);
    expect(await claimOne(fixture.ledger, first!)).toBeNull();
    await claimFirst();
    await pullAndMap(fixture.ledger, [row('1', { name: 'C' })], asMaterial);
    expect(fixture.ledger.views.item('material', '1')?.state).toBe('sending');
  });

  it('a retry is not claimed before its time, even where a job names it', async () => {
    await pullAndMap(fixture.ledger, [row('1')], asProduct);
    const id = await claimFirst();
    const dueAt = fixture.clock.now() + 1000;
    const reason: Reason = { code: 'unavailable', message: 'why' };
    await settleOne(fixture.ledger, { id, decision: { kind: 'retry', dueAt, spend: false, reason } });
    fixture.clock.advance(999);
    expect(await fixture.ledger.dueAmong([id])).toEqual(new Set());
    // The wait is as long as before on a clock that was set forward.
    fixture.clock.jump(3_600_000);
    expect(await fixture.ledger.dueAmong([id])).toEqual(new Set());
    expect(await claimOne(fixture.ledger, id)).toBeNull();
    fixture.clock.advance(1);
    expect(await fixture.ledger.dueAmong([id])).toEqual(new Set([id]));
    expect(await claimOne(fixture.ledger, id)).not.toBeNull();
  });

  it.each([
    ['forward', 3_600_000, 3_600_000],
    ['back', -3_600_000, -3_600_000 + 500],
  ])('the time from which a lost answer is awaited follows a clock that is set %s', async (_, ms, moved) => {
    await pullAndMap(fixture.ledger, [row('1')], asProduct);
    const id = await claimFirst();
    const since = fixture.clock.now();
    const reason: Reason = { code: 'timeout', message: 'lost', since };
    const nextLookAt = since + 1000;
    await settleOne(fixture.ledger, { id, decision: { kind: 'unconfirmed', nextLookAt, spend: true, reason } });
    fixture.clock.advance(500);
    fixture.clock.jump(ms);
    expect(await fixture.ledger.dueAmong([id])).toEqual(new Set());
    expect(fixture.ledger.views.item('product', '1')?.reason?.since).toBe(since + moved);
  });

  it('an unchanged retry has the same bytes and key, and a new revision has another key', async () => {
    await pullAndMap(fixture.ledger, [row('1', { name: 'A' })], asMaterial);
    const first = await claimDue(fixture.ledger);
    const reason: Reason = { code: 'throttled', message: 'slow down' };
    await settleOne(fixture.ledger, { id: first.id, decision: { kind: 'retry', dueAt: 0, spend: false, reason } });
    const second = await claimDue(fixture.ledger);
    expect(second).toEqual({ ...first, sends: 2, again: true });
    expect(first.idempotencyKey).toMatch(/^[A-Za-z0-9_-]{43}$/);
    await settleOne(fixture.ledger, {
      id: second.id,
      decision: { kind: 'rejected', reason: { code: 'refused', message: 'no' } },
    });
    const [candidate] = await fixture.ledger.replayCandidates({
      selection: { states: ['rejected'], sources: [], keys: [], deliveryIds: [] },
      afterId: 0,
      limit: 9,
    });
    const record = { id: candidate!.id, version: candidate!.version, result: asMaterial(candidate!.fields) };
    expect(await fixture.ledger.replay({ records: [record], dryRun: false })).toMatchObject({
      staged: 1,
    });
    const third = await claimDue(fixture.ledger);
    expect(third.body).toBe(first.body);
    expect(third.idempotencyKey).not.toBe(first.idempotencyKey);
  });

  it('a BOM item waits for its product and its material, and is sent the moment both are there', async () => {
    const map = ({ id }: JsonObject): MapResult => {
      if (id === 'b') return items(bomItem('b', 'p', 'm', '2.5'));
      return id === 'p' ? items(product('p')) : items(material('m'));
    };
    await pullRows(fixture.ledger, { rows: [row('b')], snapshot: false });
    await mapRows(fixture.ledger, map);
    expect(fixture.ledger.views.waitingFor(10)).toEqual([
      { kind: 'material', key: 'm', state: null, count: 1 },
      { kind: 'product', key: 'p', state: null, count: 1 },
    ]);
    await pullRows(fixture.ledger, { rows: [row('m')], snapshot: false });
    await mapRows(fixture.ledger, map);
    const id = await claimFirst();
    const arrived = delivered(101);
    expect(await settleOne(fixture.ledger, { id, decision: arrived })).toMatchObject({ released: 0 });
    await pullRows(fixture.ledger, { rows: [row('p')], snapshot: false });
    await mapRows(fixture.ledger, map);
    const sent = await deliverAll(fixture.ledger, 200);
    expect(sent.map(({ operation }) => operation)).toEqual(['product.create', 'bom_item.create']);
    expect(sent[1]?.body).toBe('{"quantity":"2.5","material":101,"product":201}');
  });

  it(
    'deliveries that were being sent when the process ended are marked as unconfirmed, and the others stay due',
    covers('process-killed', 'I6'),
    async () => {
      await pullAndMap(fixture.ledger, [row('1'), row('2')], asProduct);
      await claimFirst();
      const ledger = await fixture.reopen();
      expect(await ledger.recover(2000)).toEqual({ voided: 1 });
      expect(ledger.views.itemCounts().product).toEqual({ in_doubt: 1, due: 1 });
      expect(await ledger.unconfirmedDeliveries({ limit: 9 })).toEqual([]);
      fixture.clock.advance(2000);
      expect(await ledger.unconfirmedDeliveries({ limit: 9 })).toMatchObject([{ key: '1', naturalKey: 'SKU-1' }]);
    },
  );

  it('suspended deliveries are left out, however long they have been due, and counted', async () => {
    const { ledger } = fixture;
    await pullAndMap(ledger, [row('1'), row('2'), row('3'), row('4')], ({ id }) =>
      items(...(Number(id) % 2 === 1 ? [product(text(id))] : [material(text(id))])),
    );
    const nothing = { operations: [], kinds: [], reasons: [] };
    const products = { operations: ['product.create' as const], unconfirmed: nothing };
    const listed = async (suspended?: SuspendedWork) => {
      const due = await ledger.dueDeliveries({ afterId: 0, limit: 3, ...(suspended && { suspended }) });
      return due.map(({ key }) => key);
    };
    expect([await listed(), await listed(products)]).toEqual([
      ['1', '2', '3'],
      ['2', '4'],
    ]);
    expect(await ledger.countSuspended(products)).toEqual({ due: 2, unconfirmed: 0 });
    const first = await claimFirst();
    const reason: Reason = { code: 'reset', message: 'lost' };
    const lookAt = fixture.clock.now() + 50;
    const unconfirmed = { kind: 'unconfirmed' as const, nextLookAt: lookAt, spend: true, reason };
    await settleOne(ledger, { id: first, decision: unconfirmed });
    for (const { id } of await ledger.dueDeliveries({ afterId: 0, limit: 9, suspended: products })) {
      await claimOne(ledger, id);
      await settleOne(ledger, { id, decision: { kind: 'rejected', reason } });
    }
    const byOperation = { operations: [], unconfirmed: { ...nothing, operations: ['product.create' as const] } };
    const byReason = {
      ...products,
      unconfirmed: { ...nothing, kinds: ['product' as const], reasons: ['reset' as const] },
    };
    const ofOtherKind = { ...products, unconfirmed: { ...byReason.unconfirmed, kinds: ['material' as const] } };
    expect(await ledger.nextDueAt()).toBe(0);
    expect(await ledger.nextDueAt({ suspended: products })).toBe(lookAt);
    expect(await ledger.nextDueAt({ suspended: products, after: lookAt })).toBeNull();
    expect(await ledger.nextDueAt({ suspended: byReason })).toBeNull();
    expect(await ledger.countSuspended(byReason)).toEqual({ due: 1, unconfirmed: 1 });
    expect(await ledger.countSuspended(ofOtherKind)).toEqual({ due: 1, unconfirmed: 0 });
    fixture.clock.advance(50);
    expect(await ledger.unconfirmedDeliveries({ limit: 9, suspended: products })).toHaveLength(1);
    expect(await ledger.unconfirmedDeliveries({ limit: 9, suspended: byOperation })).toEqual([]);
    expect(await ledger.unconfirmedDeliveries({ limit: 9, suspended: byReason })).toEqual([]);
  });

  it('an item that the platform had before is written as an update after it was bound', async () => {
    await pullAndMap(fixture.ledger, [row('1', { name: 'A' })], asMaterial);
    const id = await claimFirst();
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'delivered', remoteId: 'abc', contentKnown: false, by: 'read_back' },
    });
    const sent = await deliverAll(fixture.ledger);
    expect(sent).toEqual([{ operation: 'material.update', key: '1', body: '{"code":"M-1","name":"A"}' }]);
    expect(fixture.ledger.views.item('material', '1')).toMatchObject({ state: 'delivered', remoteId: 'abc' });
  });

  it('an unconfirmed delivery that no list shows is not sent again unless it is forced', async () => {
    await pullAndMap(fixture.ledger, [row('1')], asProduct);
    const id = await claimFirst();
    const reason: Reason = { code: 'reset', message: 'lost' };
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'unconfirmed', nextLookAt: null, spend: true, reason },
    });
    const selection = { states: ['in_doubt' as const], sources: [], keys: [], deliveryIds: [] };
    const [candidate] = await fixture.ledger.replayCandidates({ selection, afterId: 0, limit: 9 });
    const records = [{ id: candidate!.id, version: candidate!.version, result: asProduct(candidate!.fields) }];
    expect(await fixture.ledger.replay({ records, dryRun: false })).toEqual({
      staged: 0,
      quarantined: 0,
      leftUnconfirmed: 1,
    });
    expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
    expect(await fixture.ledger.forceUnconfirmed({ selection, dryRun: true })).toBe(1);
    expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
    expect(await fixture.ledger.forceUnconfirmed({ selection, dryRun: false })).toBe(1);
    expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toHaveLength(1);
  });

  /** Claims the due delivery, loses its answer, and lets it be sent again. */
  async function doubtAndResend(decision: { absent: boolean }): Promise<number> {
    const id = await claimFirst();
    const reason: Reason = { code: 'reset', message: 'lost' };
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'unconfirmed', nextLookAt: 1, spend: true, reason },
    });
    await settleOne(fixture.ledger, { id, decision: { kind: 'resend', dueAt: 0, ...decision, reason } });
    return id;
  }

  it('a write that may have arrived is followed by the next one, also when the change is taken back meanwhile', async () => {
    await sync([row('1', { name: 'A' })], asMaterial);
    await pullAndMap(fixture.ledger, [row('1', { name: 'B' })], asMaterial);
    await doubtAndResend({ absent: false });
    const { sent } = await sync([row('1', { name: 'A' })], asMaterial);
    expect(sent.map(({ body }) => body)).toEqual(['{"name":"B"}', '{"name":"A"}']);
  });

  it('a write that is proven not to have arrived is superseded', async () => {
    await sync([row('1', { name: 'A' })], asMaterial);
    await pullAndMap(fixture.ledger, [row('1', { name: 'B' })], asMaterial);
    await doubtAndResend({ absent: true });
    expect((await sync([row('1', { name: 'A' })], asMaterial)).sent).toEqual([]);
  });

  it('a refused update that may have arrived before leaves no field of its item certain', async () => {
    await sync([row('1', { name: 'A' })], asMaterial);
    await pullAndMap(fixture.ledger, [row('1', { name: 'B' })], asMaterial);
    const id = await doubtAndResend({ absent: false });
    await claimOne(fixture.ledger, id);
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'rejected', reason: { code: 'refused', message: 'no' } },
    });
    const { sent } = await sync([row('1', { name: 'A' })], asMaterial);
    expect(sent.map(({ body }) => body)).toEqual(['{"code":"M-1","name":"A"}']);
  });

  it('a look-up searches for what was sent, not for the present name of the item', async () => {
    await pullAndMap(fixture.ledger, [row('1')], asProduct);
    const id = await claimFirst();
    const reason: Reason = { code: 'reset', message: 'lost' };
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'unconfirmed', nextLookAt: 1, spend: true, reason },
    });
    await pullAndMap(fixture.ledger, [row('1', { name: 'renamed' })], () =>
      items({ ...product('1'), payload: { sku: 'OTHER', name: 'renamed' } }),
    );
    expect(await fixture.ledger.unconfirmedDeliveries({ limit: 9 })).toMatchObject([{ sentKey: { value: 'SKU-1' } }]);
  });

  it('an unconfirmed delivery whose row is excluded by now is shown, and sent again when a person wants it', async () => {
    await pullAndMap(fixture.ledger, [row('1')], asProduct);
    const id = await claimFirst();
    const reason: Reason = { code: 'reset', message: 'lost' };
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'unconfirmed', nextLookAt: null, spend: true, reason },
    });
    await pullAndMap(fixture.ledger, [row('1', { off: true })], () => ({ status: 'excluded' }));
    expect(fixture.ledger.views.itemCounts(['erp']).product).toEqual({ in_doubt: 1 });
    const selection = { states: ['in_doubt' as const], sources: [], keys: ['SKU-1'], deliveryIds: [] };
    expect(await fixture.ledger.forceUnconfirmed({ selection, dryRun: false })).toBe(1);
    expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toHaveLength(1);
  });

  it('unconfirmed deliveries that need nobody are counted by the sources that were asked for', async () => {
    await pullAndMap(fixture.ledger, [row('1'), row('2')], asProduct);
    const reason: Reason = { code: 'reset', message: 'lost' };
    for (const nextLookAt of [fixture.clock.now(), null]) {
      const deliveryId = await claimFirst();
      await settleOne(fixture.ledger, {
        id: deliveryId,
        decision: { kind: 'unconfirmed', nextLookAt, spend: true, reason },
      });
    }
    const { views } = fixture.ledger;
    expect(views.itemCounts().product).toEqual({ in_doubt: 2 });
    const one = { count: 1, nextLookAt: fixture.clock.now() };
    expect([views.attention([]), views.attention(['erp'])].map(({ awaitingReadBack }) => awaitingReadBack)).toEqual([
      one,
      one,
    ]);
    expect(views.attention(['other']).awaitingReadBack).toEqual({ count: 0, nextLookAt: null });
  });

  it('a dry run of a replay shows its result, and changes nothing', async () => {
    const map = ({ name }: JsonObject) => items(product('1', text(name)));
    await sync([row('1', { name: 'first' }), row('x', { name: 'second' })], map);
    const selection = { states: ['quarantined' as const], sources: [], keys: [], deliveryIds: [] };
    const [candidate] = await fixture.ledger.replayCandidates({ selection, afterId: 0, limit: 9 });
    const { id, version } = candidate!;
    const dry = async (name: string) => {
      const records = [{ id, version, result: items(product(name)) }];
      return fixture.ledger.replay({ records, dryRun: true });
    };
    expect(await dry('1')).toMatchObject({ staged: 0, quarantined: 1 });
    expect(await dry('2')).toMatchObject({ staged: 1, quarantined: 0 });
    expect(fixture.ledger.views.quarantinedCount()).toBe(1);
    expect(fixture.ledger.views.item('product', '2')).toBeNull();
    expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
  });

  it('the timeline of an item has all that has happened to it', async () => {
    await sync([row('1')]);
    const what = fixture.ledger.views.item('product', '1')?.timeline.map((entry) => entry.what);
    expect(what).toEqual(['staged', 'sent', 'delivered']);
  });
});

describe('the file', () => {
  const open = (options: { target?: string } = {}) => openLedger(fixture.file, { clock: fixture.clock, ...options });

  it('a ledger has one writer, which is named to a second one', () => {
    expect(() => open()).toThrow(/in use by "dpp-sync test" \(process \d+, since 2027-01-15/);
  });

  it('a second writer gets no message about a process that has ended', async () => {
    await fixture.ledger.close();
    const db = openDatabase(fixture.file);
    const { pid } = spawnSync('true');
    const holder = { pid, command: 'start', since: '2027-01-14T02:30:00.000Z' };
    db.prepare("UPDATE meta SET value = ? WHERE name = 'holder'").run(JSON.stringify(holder));
    db.close();
    // A process that has the lock and has not written its note yet.
    const lock = acquireLock(fixture.file, () => null);
    try {
      expect(() => open()).toThrow(/in use by another process, which could not be determined/);
      expect(() => open()).not.toThrow(/dpp-sync start/);
    } finally {
      lock.release();
    }
    await fixture.reopen();
  });

  it('a ledger has one lock by whatever link it is reached', () => {
    const link = `${fixture.file}.link`;
    symlinkSync(fixture.file, link);
    expect(() => openLedger(link)).toThrow(/in use by/);
  });

  it('a ledger is bound to its target', async () => {
    await fixture.ledger.close();
    expect(() => open({ target: 'https://elsewhere.example.com' })).toThrow(/belongs to http:\/\/127\.0\.0\.1:9/);
    await fixture.reopen();
  });

  it('a ledger can be read beside its writer', async () => {
    await sync([row('1')]);
    const reader = openLedgerReads({ file: fixture.file, passportRules: NO_PASSPORTS, forms: FORMS });
    expect((await reader?.reads.itemCounts())?.product).toEqual({ delivered: 1 });
    reader?.close();
  });

  it('a ledger is readable by its owner alone', () => {
    expect(statSync(fixture.file).mode & 0o777).toBe(0o600);
  });

  it('a ledger waits for the disk before it acknowledges', async () => {
    await fixture.ledger.close();
    const db = openDatabase(fixture.file);
    db.exec("INSERT INTO meta VALUES ('x', 'y')");
    expect(db.pragma('synchronous', { simple: true })).toBe(2);
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    db.close();
    await fixture.reopen();
  });
});
