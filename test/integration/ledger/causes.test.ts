// What the list of causes has besides rows in quarantine and refused writes.

import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { ApiTrouble } from '../../../src/domain/advice.ts';
import type { HeldRun } from '../../../src/domain/approval.ts';
import type { Item } from '../../../src/domain/item.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { DashboardViews } from '../../../src/domain/ports/ledger/dashboard-views.ts';
import { createDashboard } from '../../../src/ledger/dashboard/dashboard-views.ts';
import { openDatabaseReadOnly } from '../../../src/ledger/upgrade/open.ts';
import { createBitmap } from '../../../src/lib/collections.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../../support/ledger/items.ts';
import { FORMS, NO_PASSPORTS, useLedger } from '../../support/ledger/ledger.ts';
import { mapRows, pullRows, row, stageRows } from '../../support/ledger/records.ts';

const RULES = { ...NO_PASSPORTS, init: 'when-complete', publish: 'auto', sources: ['erp'] } as const;
const fixture = useLedger({ rules: RULES });

let opened: { of: string; views: DashboardViews } | null = null;

function views(rules: Parameters<typeof createDashboard>[1] = RULES): DashboardViews {
  if (opened?.of === fixture.file && rules === RULES) return opened.views;
  const db = openDatabaseReadOnly(fixture.file);
  if (db === null) throw new Error('There is no ledger.');
  const made = createDashboard(db, rules, FORMS, fixture.clock).views;
  if (rules === RULES) opened = { of: fixture.file, views: made };
  return made;
}

const HALF = { maxMissing: 0.5, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 0.5 };

function fromOutside(sql: string): void {
  const db = new Database(fixture.file);
  db.exec(sql);
  db.close();
}

const START = { source: 'erp', trigger: 'cli', streams: ['default'], mappingRevision: 'r1' } as const;

async function failRun(): Promise<void> {
  const { runId } = await fixture.ledger.startRun({ ...START, streams: ['default'] });
  await fixture.ledger.endRun({ runId, result: 'failed', error: 'The file is not there' });
}

const quarantined = (value: string | undefined, blocked: string): MapResult => ({
  status: 'quarantined',
  issues: [
    {
      code: 'country.unknown',
      message: 'It is none.',
      field: 'country_of_origin',
      ...(value === undefined ? {} : { value }),
    },
  ],
  blockedProducts: [blocked],
});

it('a row in quarantine whose reasons cannot be read is a cause without values, and the others have theirs', async () => {
  await stageRows(fixture.ledger, { 1: quarantined('Oz', '1'), 2: quarantined('Oz', '2') });
  fromOutside("UPDATE records SET issues = '{' WHERE key = '1'");
  const values = views()
    .causes({})
    .map((cause) => cause.values);
  expect(values.toSorted((a, b) => a.length - b.length)).toEqual([[], [{ value: 'Oz', count: 1 }]]);
  const members = views()
    .causes({})
    .flatMap(({ id }) => views().causeMembers(id, { limit: 9 }).rows);
  expect(members.map(({ record }) => record?.issues.length ?? -1).toSorted((a, b) => a - b)).toEqual([0, 1]);
});

it('a row whose product is unknown keeps the passports of all products, and those that only rows with an error would make', async () => {
  const unknown = { ...quarantined('Oz', '9'), blockedProducts: [null, '9'] } as MapResult;
  await stageRows(fixture.ledger, { 1: items(product('1'), product('2'), product('3')), 2: unknown });
  expect(views().causes({})).toMatchObject([{ type: 'quarantine', passportsHeld: 4 }]);
});

describe('a failed run as a cause', () => {
  it('a failed run says how many passports of its source wait, and stands before a cause that holds fewer', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1'), product('2'), product('3')), 2: quarantined('Oz', '3') });
    await failRun();
    expect(views().causes({})).toMatchObject([
      { type: 'run', passportsHeld: 3 },
      { type: 'quarantine', passportsHeld: 1 },
    ]);
  });

  it('a failed run of a source without waiting passports says that their number is not known, and stands first', async () => {
    await stageRows(fixture.ledger, { 2: quarantined('Oz', '3') });
    await failRun();
    expect(views().causes({})).toMatchObject([{ type: 'run', passportsHeld: null }, { type: 'quarantine' }]);
  });
});

describe('a run that is held as a cause', () => {
  const held = (source: string, decision: HeldRun['decision']): HeldRun => ({
    source,
    runId: 1,
    at: 1_000,
    excesses: [{ source, effect: 'changes', count: 40, limit: 10 }],
    effects: { [source]: { creates: 0, changes: 40, publish: 0, unpublish: 0 } },
    writes: { count: 42, digest: 'd' },
    decision,
  });

  it('a held run is a cause with what it would do, and stands first, because nobody knows how many passports wait', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1')), 2: quarantined('Oz', '3') });
    await fixture.ledger.noteDaemon('held', { erp: held('erp', null), gone: held('gone', null) });
    const [cause, ...others] = views().causes({});
    expect(others.map(({ type }) => type)).toEqual(['quarantine']);
    expect(cause).toMatchObject({
      type: 'held',
      source: 'erp',
      title: 'A run of erp would do more than is allowed.',
      count: 42,
      passportsHeld: null,
      firstSeenAt: 1_000,
      command: 'dpp-sync plan erp',
    });
    expect(cause?.meaning).toContain('It would make 40 changed items (erp allows 10).');
    expect(views().causeMembers(cause?.id ?? '', { limit: 9 }).rows).toEqual([]);
  });

  it('a held run is no cause any more when a person has decided', async () => {
    for (const decided of ['approved', 'refused'] as const) {
      await fixture.ledger.noteDaemon('held', { erp: held('erp', { decided, by: 'anna', at: 2_000 }) });
      expect(views().causes({})).toEqual([]);
    }
  });
});

describe('an export that the guard holds as a cause', () => {
  const ALL = { a: items(product('a')), b: items(product('b')), c: items(product('c')), d: items(product('d')) };
  const half = () => pullRows(fixture.ledger, { rows: [row('a', { version: JSON.stringify(ALL.a) })] });

  it('an export that the guard holds is a cause with its figures, its cure, and the passports of what is gone', async () => {
    await stageRows(fixture.ledger, ALL);
    await half();
    const of = views({ ...RULES, partSources: [] });
    const [cause] = of.causes({ type: 'guard' });
    expect(cause).toMatchObject({
      source: 'erp',
      stream: 'default',
      code: 'guard.held',
      title: 'The export of erp has only 1 row and lacks 3. It is treated as broken, and nothing was removed.',
      count: 3,
      passportsHeld: 3,
      example: 'SKU-b',
    });
    expect(cause?.meaning).toContain('3 of 4 records with items are missing from this export');
    expect(cause?.cure).toContain('accept it');
    expect(of.cause(cause?.id ?? '')).toEqual(cause);
  });

  it('an export of a source of parts that the guard holds holds the passports of all products', async () => {
    await stageRows(fixture.ledger, ALL);
    await half();
    const [cause] = views().causes({ type: 'guard' });
    expect(cause?.passportsHeld).toBe(4);
  });
});

describe('an export that a person refuses', () => {
  const ALL = {
    a: items(product('a')),
    b: items(product('b'), bomItem('L', 'a', 'M'), material('M')),
    c: items(product('c')),
  };
  const rowA = row('a', { version: JSON.stringify(ALL.a) });
  const half = () => pullRows(fixture.ledger, { rows: [rowA] });
  const asked = () => fixture.ledger.views.guardedReads(['erp']).length;
  const plain = () => views({ ...RULES, partSources: [] });

  it('a refused export keeps what was there, and asks nobody again until an export lacks more', async () => {
    await stageRows(fixture.ledger, ALL);
    const { runId } = await half();
    expect([asked(), plain().causes({ type: 'guard' }).length]).toEqual([1, 1]);
    const refused = await fixture.ledger.refuse({ source: 'erp', by: 'anna' });
    expect(refused).toMatchObject([{ source: 'erp', stream: 'default', runId, missing: 2 }]);
    expect([asked(), plain().causes({ type: 'guard' }).length]).toEqual([0, 0]);
    expect(fixture.ledger.views.standing({ sources: ['erp'], watched: ['erp'], configured: ['erp'] }).guarded).toEqual(
      [],
    );
    const at = fixture.clock.now();
    expect(fixture.ledger.views.refusedReads('erp')).toEqual([
      { source: 'erp', stream: 'default', runId, at, by: 'anna' },
    ]);
    expect(plain().items({ state: 'missing' }, { limit: 9 }).rows).toEqual([]);
    expect(await fixture.ledger.refuse({ source: 'erp', by: 'ben' })).toEqual([]);
    const next = await half();
    expect([asked(), fixture.ledger.views.refusedReads('erp').map(({ runId: of }) => of)]).toEqual([0, [next.runId]]);
    await pullRows(fixture.ledger, { rows: [row('new')] });
    expect([asked(), fixture.ledger.views.refusedReads('erp')]).toEqual([1, []]);
  });

  it('an export is refused, and stays refused, although its run was deleted', async () => {
    await stageRows(fixture.ledger, ALL);
    await half();
    fromOutside('DELETE FROM runs');
    await fixture.ledger.refuse({ source: 'erp', by: 'anna' });
    expect([asked(), fixture.ledger.views.refusedReads('erp').length]).toEqual([0, 1]);
    await half();
    fromOutside('DELETE FROM runs');
    expect([asked(), fixture.ledger.views.refusedReads('erp').length]).toEqual([0, 1]);
  });

  it('an older export that a person has refused asks nobody again, and another older one does', async () => {
    await stageRows(fixture.ledger, ALL);
    const older = async (asOf: number) => {
      const { runId } = await fixture.ledger.startRun({ ...START, streams: ['default'] });
      const held = { message: 'It is older.', asOf, missing: 1, read: 2 };
      const read = { runId, source: 'erp', stream: 'default', seen: null, read: 0, flagItems: true };
      await fixture.ledger.endStream({ ...read, held, creates: 'keep', guard: HALF });
      await fixture.ledger.endRun({ runId, result: 'complete' });
    };
    await older(1000);
    await fixture.ledger.refuse({ source: 'erp', by: 'anna' });
    await older(1000);
    expect(asked()).toBe(0);
    await older(900);
    expect(asked()).toBe(1);
  });

  it('a stream that the config no longer has cannot be refused, and nobody is advised to', async () => {
    await stageRows(fixture.ledger, ALL);
    const { runId } = await fixture.ledger.startRun({ ...START, streams: ['other'] });
    const leftStreams = { guard: { ...HALF, maxMissing: 0 }, flagItems: true };
    await fixture.ledger.endRun({ runId, result: 'complete', leftStreams });
    expect(fixture.ledger.views.guardedReads(['erp'])).toMatchObject([{ isLeft: true }]);
    expect(await fixture.ledger.refuse({ source: 'erp', by: 'anna' })).toEqual([]);
    expect(asked()).toBe(1);
    expect(plain().causes({ type: 'guard' })[0]?.cure).not.toContain('refuse');
  });

  it('an acceptance leaves what was refused before, while another export of the source waits for a decision', async () => {
    const streams = ['default', 'other'];
    const read = async (rows: Record<string, string[]>) => {
      const { runId } = await fixture.ledger.startRun({ ...START, streams });
      for (const stream of streams) {
        const seen = createBitmap();
        const records = (rows[stream] ?? []).map((id) => row(id));
        const of = { runId, source: 'erp', stream };
        await fixture.ledger.stagePage({ ...of, records, seen, deferMapping: false, uncounted: 0 });
        const end = { ...of, seen, read: records.length, creates: 'decide', flagItems: true, guard: HALF } as const;
        await fixture.ledger.endStream(end);
      }
      await fixture.ledger.endRun({ runId, result: 'complete' });
      await mapRows(fixture.ledger, ({ id }) => items(product(text(id))));
    };
    await read({ default: ['a', 'b', 'c'], other: ['x', 'y', 'z'] });
    await read({ default: ['a'], other: ['x', 'y', 'z'] });
    await fixture.ledger.refuse({ source: 'erp', by: 'anna' });
    await read({ default: ['a'], other: ['x'] });
    const { reads } = await fixture.ledger.accept({ sources: ['erp'] });
    expect(reads.map(({ stream }) => stream)).toEqual(['other']);
    expect(fixture.ledger.views.refusedReads('erp')).toMatchObject([{ stream: 'default', by: 'anna' }]);
  });

  it('a refused export can still be accepted, and the next read then uses that decision', async () => {
    await stageRows(fixture.ledger, ALL);
    await half();
    await fixture.ledger.refuse({ source: 'erp', by: 'anna' });
    expect((await fixture.ledger.accept({ sources: ['erp'] })).reads).toHaveLength(1);
    expect(fixture.ledger.views.refusedReads('erp')).toEqual([]);
    expect((await half()).guarded).toBeNull();
  });

  it('the effects of an export that the guard holds are the products that are gone or use what is gone', async () => {
    await stageRows(fixture.ledger, ALL);
    await deliverAll(fixture.ledger);
    await fixture.ledger.evaluatePassports({ afterKey: null, limit: 100 });
    await deliverAll(fixture.ledger);
    await half();
    const [effect] = plain().goneEffects('erp');
    expect(effect).toEqual({ stream: 'default', products: 3, public: 3, examples: ['a', 'b', 'c'] });
    const asked = { source: 'erp', stream: 'default', of: 'lost', limit: 2 } as const;
    const first = plain().goneRows({ ...asked, afterId: 0 });
    expect(first.rows).toHaveLength(2);
    const rest = plain().goneRows({ ...asked, afterId: first.lastId ?? 0 });
    expect([...first.rows, ...rest.rows].flatMap(({ products }) => products)).toEqual(
      expect.arrayContaining(['a', 'b', 'c']),
    );
    await fixture.ledger.askForPassports({ products: ['a'], status: 'unpublished' });
    await deliverAll(fixture.ledger);
    expect(plain().goneEffects('erp')).toMatchObject([{ products: 3, public: 2, examples: ['b', 'c', 'a'] }]);
  });
});

describe('an item that no row gives as a cause', () => {
  const part = (key: string, of: string, name: string): Item => ({
    ...bomItem(key, of, name),
    refs: [
      { role: 'product', kind: 'product', key: of },
      { role: 'component', kind: 'product', key: name, either: true },
    ],
  });

  it('items that wait for a part that no row gives are a cause, with the missing parts by how many wait for each', async () => {
    await stageRows(fixture.ledger, {
      1: items(product('1'), product('2'), product('3'), material('M')),
      2: items(bomItem('L1', '1', 'M-9407'), bomItem('L2', '2', 'M-9407'), bomItem('L3', '2', 'M-1')),
      3: items(bomItem('L4', '3', 'M'), part('L5', '3', 'X')),
    });
    const causes = views().causes({ type: 'part' });
    expect(causes).toMatchObject([
      {
        source: 'erp',
        title: 'Materials that rows name are in no file.',
        code: 'part.missing',
        count: 3,
        passportsHeld: 2,
        values: [
          { value: 'M-9407', count: 2 },
          { value: 'M-1', count: 1 },
        ],
        otherValues: 0,
      },
      { title: 'Parts that rows name are in no file.', count: 1, passportsHeld: 1, values: [{ value: 'X', count: 1 }] },
    ]);
    const [first] = causes;
    const members = (value?: string) =>
      views()
        .causeMembers(first?.id ?? '', { limit: 2, value })
        .rows.map(({ item }) => `${item?.key}: ${item?.reason.message}`);
    expect(members()).toEqual(['L1: Its material M-9407 is in no file.', 'L2: Its material M-9407 is in no file.']);
    expect(members('M-1')).toEqual(['L3: Its material M-1 is in no file.']);
    const page = views().causeMembers(first?.id ?? '', { limit: 2 });
    const rest = views().causeMembers(first?.id ?? '', { limit: 2, after: page.next ?? undefined });
    expect([rest.rows.map(({ item }) => item?.key), rest.next, rest.total.count]).toEqual([['L3'], null, 3]);
    const steps = views().why('1')?.steps ?? [];
    expect(steps.find(({ cause }) => cause === first?.id)?.text).toMatch(/^The material M-9407 is in no file/);
  });

  it('a count of the items that wait for missing parts says if not all of them were looked at', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1'), bomItem('L', '1', 'M-9407')) });
    const meaning = () => views().causes({ type: 'part' })[0]?.meaning;
    expect(meaning()).toMatch(/wait\.$/);
    const db = new Database(fixture.file);
    const others = db
      .prepare<[], string>("SELECT name FROM pragma_table_info('items') WHERE name NOT IN ('id', 'key')")
      .pluck()
      .all();
    db.exec(`INSERT INTO items (key, ${others.join(', ')})
        WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < 50000)
        SELECT 'L' || n.at, ${others.map((name) => `i.${name}`).join(', ')} FROM n, items i WHERE i.key = 'L';
      INSERT INTO refs (item_id, role, kind, key, either) SELECT i.id, f.role, f.kind, f.key, f.either
        FROM items i, refs f JOIN items l ON l.id = f.item_id WHERE l.key = 'L' AND i.key LIKE 'L_%'`);
    db.close();
    const [cause] = views().causes({ type: 'part' });
    expect(cause?.count).toBe(50_000);
    expect(cause?.meaning).toMatch(
      /Only the 50,000 oldest of the waiting items were looked at, so there may be more\.$/,
    );
  });

  it('a part that a row gives after all is no cause any more, nor is one whose row is in quarantine', async () => {
    const lines = items(product('1'), bomItem('L1', '1', 'M-9407'));
    await stageRows(fixture.ledger, { 1: lines });
    expect(views().causes({ type: 'part' })).toHaveLength(1);
    const wrong: MapResult = {
      ...quarantined('Oz', '1'),
      status: 'quarantined',
      blockedMaterials: ['M-9407'],
    } as MapResult;
    await stageRows(fixture.ledger, { 1: lines, 2: wrong });
    expect(
      views()
        .causes({})
        .map(({ type }) => type),
    ).toEqual(['quarantine']);
    await stageRows(fixture.ledger, { 1: lines, 2: items(material('M-9407')) });
    expect(views().causes({})).toEqual([]);
  });

  it('a part is not missing while a source is still being read, unless it was missing before', async () => {
    const both = views({ ...RULES, sources: ['erp', 'plm'] });
    const first = await fixture.ledger.startRun({ ...START, source: 'plm', streams: ['default'] });
    await fixture.ledger.endRun({ runId: first.runId, result: 'complete' });
    const before = items(product('1'), bomItem('L1', '1', 'M-1'));
    await stageRows(fixture.ledger, { 1: before });
    fixture.clock.advance(1000);
    const { runId } = await fixture.ledger.startRun({ ...START, source: 'plm', streams: ['default'] });
    fixture.clock.advance(1000);
    await stageRows(fixture.ledger, { 1: before, 2: items(bomItem('L2', '1', 'M-2')) });
    const values = () => both.causes({ type: 'part' }).flatMap((cause) => cause.values.map(({ value }) => value));
    expect(values()).toEqual(['M-1']);
    await fixture.ledger.endRun({ runId, result: 'complete' });
    expect(values()).toEqual(['M-1', 'M-2']);
  });

  it('a run of a source that the config no longer has hides no missing part', async () => {
    await fixture.ledger.startRun({ ...START, source: 'old', streams: ['default'] });
    fixture.clock.advance(1000);
    await stageRows(fixture.ledger, { 1: items(product('1'), bomItem('L1', '1', 'M-1')) });
    expect(views().causes({ type: 'part' })).toHaveLength(1);
  });

  it('a part that a source may have which was never read completely is missing, and that source is named', async () => {
    const rules = { ...RULES, sources: ['erp', 'plm', 'shop'], partSources: ['erp', 'plm'] };
    const told = () => {
      const [cause] = views(rules).causes({ type: 'part' });
      const steps = views(rules).why('1')?.steps ?? [];
      return cause === undefined
        ? [steps.filter(({ cause: of }) => of !== null && of !== undefined).length]
        : [cause.title, cause.cure?.split('. ')[0], cause.command, steps.some(({ cause: of }) => of === cause.id)];
    };
    await stageRows(fixture.ledger, { 1: items(product('1'), bomItem('L1', '1', 'M-1')) });
    const unread = [
      'Materials that rows name are in no file that was read.',
      'Read plm first: it may have the missing rows, and was not read completely yet',
      'dpp-sync sync plm',
      true,
    ];
    expect(told()).toEqual(unread);
    // During the first reads of all sources nobody has to do anything.
    const other = await fixture.ledger.startRun({ ...START, source: 'shop', streams: ['default'] });
    expect(told()).toEqual([0]);
    await fixture.ledger.endRun({ runId: other.runId, result: 'complete' });
    const first = await fixture.ledger.startRun({ ...START, source: 'plm', streams: ['default'] });
    expect(told()).toEqual([0]);
    await fixture.ledger.endRun({ runId: first.runId, result: 'failed' });
    expect(told()).toEqual(unread);
    const { runId } = await fixture.ledger.startRun({ ...START, source: 'plm', streams: ['default'] });
    await fixture.ledger.endRun({ runId, result: 'complete' });
    expect(told()).toEqual([
      'Materials that rows name are in no file.',
      'Add the missing rows to the source that has such items, or correct the rows that name them.',
      'dpp-sync sync erp',
      true,
    ]);
  });

  it('a component that a source of products may have is missing, and that source is named', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1'), part('L1', '1', 'X')) });
    const [cause] = views({ ...RULES, sources: ['erp', 'a', 'b', 'c', 'd'], partSources: ['erp'] }).causes({
      type: 'part',
    });
    expect([cause?.title, cause?.cure]).toEqual([
      'Parts that rows name are in no file that was read.',
      expect.stringMatching(/^Read a, b, c and 1 other source first: they may have the missing rows, and were not/),
    ]);
  });
});

describe('an API that takes nothing as a cause', () => {
  const trouble = (of: Partial<ApiTrouble>): ApiTrouble => ({
    kind: 'unreachable',
    scope: null,
    operations: null,
    message: null,
    since: 5000,
    ...of,
  });

  it('an API that does not answer is a cause with the due items, the passports that wait, and its note', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1'), product('2'), bomItem('L1', '2', 'M'), material('M')) });
    expect(views().causes({})).toEqual([]);
    const [cause] = views().causes({}, [trouble({})]);
    expect(cause).toMatchObject({
      type: 'api',
      source: null,
      code: 'api.unreachable',
      title: 'The platform does not answer.',
      count: 3,
      passportsHeld: 2,
      firstSeenAt: 5000,
    });
    await fixture.ledger.noteCause(cause?.id ?? '', { text: 'Called them.', owner: 'anna', by: 'ben' });
    expect(views().cause(cause?.id ?? '', [trouble({})])?.note?.owner).toBe('anna');
    expect(views().cause(cause?.id ?? '')).toBeNull();
  });

  it('a scope that the API refuses is a cause with only the items that need it', async () => {
    await stageRows(fixture.ledger, { 1: items(product('1'), material('M')) });
    const refused = trouble({
      kind: 'denied_scope',
      scope: 'write',
      operations: ['material.create'],
      message: 'Not with this key',
    });
    expect(views().causes({}, [refused])).toMatchObject([
      {
        title: 'The platform refuses the scope write of the key (403).',
        meaning: expect.stringMatching(/^Not with this key\. The platform knows the key/),
        count: 1,
      },
    ]);
    expect(views().causes({}, [trouble({ operations: [] })])).toMatchObject([{ count: 0, passportsHeld: 0 }]);
  });
});

describe('the values of a cause', () => {
  it('rows in quarantine are counted by their value, and can be listed by it', async () => {
    const given = ['Germny', 'Tschechei', 'Germny', undefined, 'Prussia', 'Germny', 'Tschechei'];
    await stageRows(fixture.ledger, Object.fromEntries(given.map((value, at) => [at, quarantined(value, `P${at}`)])));
    const [cause] = views().causes({});
    expect([cause?.count, cause?.values, cause?.otherValues]).toEqual([
      7,
      [
        { value: 'Germny', count: 3 },
        { value: 'Tschechei', count: 2 },
        { value: 'Prussia', count: 1 },
      ],
      0,
    ]);
    const of = (value: string) => views().causeMembers(cause?.id ?? '', { limit: 2, value });
    expect(of('Germny').rows.map(({ record }) => record?.fields['id'])).toEqual(['0', '2']);
    expect([of('Germny').total.count, of('Prussia').total.count, of('Oz').total.count]).toEqual([3, 1, 0]);
    expect(views().causeMembers(cause?.id ?? '', { limit: 1 }).total.count).toBe(7);
  });

  it('a cause names at most ten values, and counts the others', async () => {
    const given = Array.from({ length: 13 }, (_, at) => [at, quarantined(`Land ${at}`, `P${at}`)] as const);
    await stageRows(fixture.ledger, Object.fromEntries(given));
    const [cause] = views().causes({});
    expect([cause?.values.length, cause?.otherValues]).toEqual([10, 3]);
  });
});

it('a delivered ledger without trouble has no cause', async () => {
  await stageRows(fixture.ledger, { 1: items(product('1'), bomItem('L1', '1', 'M'), material('M')) });
  await deliverAll(fixture.ledger);
  expect(views().causes({})).toEqual([]);
});
