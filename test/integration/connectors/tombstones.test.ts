// Tombstones in reads of changes: rows that say that their record is gone.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Mapper } from '../../../src/domain/mapping.ts';
import type { PageToStage, StagedPage } from '../../../src/domain/ports/intake.ts';
import type { Page, SourceRow, StreamReads } from '../../../src/domain/ports/source.ts';
import { COMPARED_MAX } from '../../../src/ledger/records/gone-records.ts';
import { incomingRecords } from '../../../src/pipeline/incoming-record.ts';
import { NOTHING_SEEN } from '../../../src/pipeline/store-page.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import {
  contentsOf,
  createPageWorld,
  mapperOf,
  type PageRequest,
  type PageWorld,
  type ReadFrom,
  sourceRow,
} from '../../support/worlds/page-world.ts';

const WEEK_MS = 7 * 86_400_000;
const ALLOWS_ALL = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };

let world: PageWorld;
let clock: ReturnType<typeof createManualClock>;
let asked: ReadFrom[];

beforeEach(async () => {
  clock = createManualClock();
  world = await createPageWorld({ clock });
  asked = [];
});
afterEach(() => world.remove());

const row = (id: string, name = 'A') => sourceRow({ id, name });
const rows = (...ids: string[]) => ids.map((id) => row(id));
const gone = (id: string, more: Partial<SourceRow> = {}): SourceRow => ({
  fields: { id },
  place: { file: 'changes', line: 1 },
  isGone: true,
  ...more,
});

/** A stream that gives these pages, with a cursor after each. */
function giving(byMode: Partial<Record<ReadFrom['mode'], readonly (readonly SourceRow[])[]>>) {
  return async function* pull(from: ReadFrom): AsyncGenerator<Page> {
    asked.push(from);
    for (const [at, own] of (byMode[from.mode] ?? []).entries()) {
      yield { rows: [...own], cursor: `${from.mode} ${at + 1}` };
    }
  };
}

function pull(pages: PageRequest['pages'], more: Partial<PageRequest> = {}) {
  return world.pull({ pages, reads: 'changes-and-snapshot', snapshotEveryMs: WEEK_MS, guard: ALLOWS_ALL, ...more });
}

const modes = () => asked.map(({ mode }) => mode);
const stream = (runId: number) => world.ledger.views.run(runId)?.streams[0];
const isMissing = (id: string) => world.ledger.views.item('product', id)?.missing;
/** The products that the source has, by the ledger. */
const present = (...ids: string[]) => ids.filter((id) => isMissing(id) === false);

describe('a tombstone', () => {
  it('a record that a tombstone names is missing, counted, and the cursor of its page is stored', async () => {
    await pull(giving({ snapshot: [rows('1', '2', '3')] }));
    const { runId } = await pull(giving({ changes: [[gone('2'), row('4')]] }));
    expect(stream(runId)).toMatchObject({ read: 1, changed: 1, unchanged: 0, missing: 1 });
    expect(present('1', '2', '3', '4')).toEqual(['1', '3', '4']);
    await pull(giving({}));
    expect(asked.at(-1)).toEqual({ mode: 'changes', cursor: 'changes 1' });
  });

  it.each([
    ['lower case', 'AB-1', 'ab-1'],
    ['upper case', 'ab-1', 'AB-1'],
    ['spaces', 'A B 1', 'AB1'],
    ['zeros before a number', '00012', '12'],
    ['a number without its zeros', '12', '000000000000000012'],
    ['fewer zeros', '03', '0003'],
    ['a space that is absent', 'x5', 'x 5'],
    ['both cases', 'AB-1', 'Ab-1'],
    ['all at once', ' 0 7', '00 07'],
  ])(
    'a tombstone of an unknown key is reported if the stream has it in another spelling: %s',
    async (_, named, key) => {
      await pull(giving({ snapshot: [rows(key, 'other')] }));
      const { runId } = await pull(giving({ changes: [[gone('never'), gone(named)], [gone(named)]] }));
      expect(stream(runId)).toMatchObject({ read: 0, missing: 0 });
      expect(stream(runId)?.warnings).toEqual([
        expect.stringContaining(`2 rows say that records with an unknown key are gone`),
      ]);
      expect(stream(runId)?.warnings.join()).toContain(`${named} is unknown, and ${key} stays.`);
    },
  );

  it('a run compares a certain number of keys with unknown tombstones, however many pages have them', async () => {
    const keys = Array.from({ length: 2_000 }, (_, at) => `A-${at}`);
    const pages = Array.from({ length: COMPARED_MAX / 2_000 + 3 }, () => [gone('a-1')]);
    await pull(giving({ snapshot: [keys.map((key) => row(key))] }));
    const { runId } = await pull(giving({ changes: [[gone('never')], ...pages] }));
    expect(stream(runId)?.warnings).toEqual([expect.stringContaining(`${COMPARED_MAX / 2_000 - 1} rows say`)]);
  });

  it('a tombstone of an unknown key is not reported if the record with the other spelling is gone already', async () => {
    await pull(giving({ snapshot: [rows('ab', 'other')] }));
    await pull(giving({ changes: [[gone('ab')]] }));
    const { runId } = await pull(giving({ changes: [[gone('AB'), gone('ab'), gone('OTHER-2')]] }));
    expect(stream(runId)?.warnings ?? []).toEqual([]);
  });

  it('a tombstone of a record that is not known, or gone already, is nothing', async () => {
    await pull(giving({ snapshot: [rows('1')] }));
    const { runId } = await pull(giving({ changes: [[gone('2')], [gone('1'), gone('1')], [gone('1')]] }));
    expect(stream(runId)).toMatchObject({ read: 0, missing: 1, quarantined: 0 });
    expect(world.ledger.views.item('product', '2')).toBeNull();
  });

  it.each<[string, SourceRow[][], string | null]>([
    ['a tombstone, then the row', [[gone('1'), row('1')]], 'A'],
    ['a tombstone, then a changed row', [[gone('1'), row('1', 'B')]], 'B'],
    ['a changed row, then a tombstone', [[row('1', 'B'), gone('1')]], null],
    ['a row, a tombstone and a row', [[row('1', 'B'), gone('1'), row('1', 'C')]], 'C'],
    ['two tombstones around a row', [[gone('1'), row('1', 'B'), gone('1')]], null],
    ['a tombstone, and the row in the next page', [[gone('1')], [row('1')]], 'A'],
    ['the row, and a tombstone in the next page', [[row('1', 'B')], [gone('1')]], null],
    ['a tombstone before an unchanged row that changes later', [[gone('1'), row('2'), row('2', 'B')]], null],
    ['a new row and its tombstone', [[row('9'), gone('9'), gone('1'), row('1', 'B')]], 'B'],
  ])('the last word about a record counts: %s', async (_, changes, name) => {
    await pull(giving({ snapshot: [rows('1', '2')] }));
    await pull(giving({ changes }));
    expect(world.ledger.views.item('product', '1')).toMatchObject({ missing: name === null, ...(name && { name }) });
    expect(present('2', '9')).toEqual(['2']);
    await pull(giving({ changes: [[row('1', 'D')]] }));
    expect(world.ledger.views.item('product', '1')).toMatchObject({ missing: false, name: 'D' });
  });

  it('all records with the key of a tombstone are gone', async () => {
    const mapper = mapperOf('r1', ({ id, n }) => items(product(`${text(id)}-${text(n)}`, 'A')));
    const of = (id: string, n: string) => sourceRow({ id, n });
    const others = ['12', '1 2', '1\t2', '1\u001e2'];
    const snapshot = [[of('1', 'a'), of('1', 'b'), of('1', 'c'), ...others.map((id) => of(id, 'a'))]];
    await pull(giving({ snapshot }), { mapper });
    const { runId } = await pull(giving({ changes: [[gone('1')]] }), { mapper });
    expect(stream(runId)).toMatchObject({ missing: 3 });
    const left = others.map((id) => `${id}-a`);
    expect(present('1-a', '1-b', '1-c', ...left)).toEqual(left);
  });

  it('a tombstone leaves records and items as a snapshot without the record does', async () => {
    const changed = async (second: Parameters<typeof giving>[0], reads: StreamReads) => {
      await pull(giving({ snapshot: [rows('1', '2')] }));
      await pull(giving(second), { reads });
      const { runs: _, run_streams: __, streams: ___, ...others } = contentsOf(world.file);
      return others;
    };
    const byTombstone = await changed({ changes: [[gone('2')]] }, 'changes-and-snapshot');
    await world.remove();
    world = await createPageWorld({ clock });
    expect(byTombstone).toEqual(await changed({ snapshot: [rows('1')] }, 'snapshot'));
  });

  it('another row takes over what the record that is gone has made', async () => {
    const mapper = mapperOf('r1', ({ sku, name }) => items(product(text(sku), text(name))));
    const of = (id: string, sku: string, name = 'A') => sourceRow({ id, sku, name });
    await pull(giving({ snapshot: [[of('1', 'X'), of('2', 'X'), of('3', 'Y'), of('4', 'Y', 'B')]] }), { mapper });
    await pull(giving({ changes: [[gone('1'), gone('3')]] }), { mapper });
    await world.mapStored();
    expect(present('X', 'Y')).toEqual(['X', 'Y']);
    expect(world.ledger.views.item('product', 'Y')).toMatchObject({ name: 'B' });
  });

  it('a record that is gone before it was mapped makes items that are missing', async () => {
    const waiting = mapperOf('r1', ({ sku }) => items(product(text(sku), 'A')));
    const of = (id: string, sku: string) => sourceRow({ id, sku });
    // Both make X. When the first one is gone, the second one waits to be mapped again.
    await pull(giving({ changes: [[of('1', 'X'), of('2', 'X')]] }), { mapper: waiting, reads: 'changes' });
    await world.mapQueue.stop();
    await pull(giving({ changes: [[gone('1')], [gone('2')]] }), { mapper: waiting, reads: 'changes' });
    expect(world.ledger.pendingSources()).toEqual(['erp']);
    await world.mapStored();
    expect(isMissing('X')).toBe(true);
  });

  it('a record that comes back with the page of its tombstone is mapped with this page', async () => {
    const staged: { page: PageToStage; result: StagedPage }[] = [];
    await world.remove();
    world = await createPageWorld({
      aroundLedger: (ledger) => ({
        ...ledger,
        async stagePage(page) {
          const result = await ledger.stagePage(page);
          staged.push({ page, result });
          return result;
        },
      }),
    });
    await pull(giving({ snapshot: [rows('1', '2')] }));
    await pull(giving({ changes: [[gone('1'), ...rows('1', '2')]] }));
    expect(staged.at(-1)).toMatchObject({
      page: { gone: { identities: ['1'], flagItems: true } },
      result: { changed: 1, summary: { mapped: 1 } },
    });
  });

  it('a page of unchanged rows is stored where it also says that a record is gone', async () => {
    await pull(giving({ snapshot: [rows('1', '2')] }));
    const start = { source: 'erp', trigger: 'cli' as const, streams: ['default'], mappingRevision: 'r1' };
    const { runId } = await world.ledger.startRun(start);
    const records = incomingRecords(rows('2'), ['id'], new Set());
    const page = { runId, source: 'erp', stream: 'default', records, seen: NOTHING_SEEN, deferMapping: false };
    const of = { gone: { identities: ['1'], flagItems: true }, uncounted: 0 };
    expect(await world.ledger.stagePage({ ...page, ...of })).toMatchObject({ counted: true });
    expect(present('1', '2')).toEqual(['2']);
  });

  it('a create that was not sent is not sent any more, and is sent if the record comes back', async () => {
    await pull(giving({ snapshot: [rows('1', '2')] }));
    await pull(giving({ changes: [[gone('2')]] }));
    expect(world.ledger.views.item('product', '2')).toMatchObject({ state: 'superseded' });
    await pull(giving({ changes: [[row('2')]] }));
    expect(world.ledger.views.item('product', '2')?.state).not.toBe('superseded');
  });
});

describe('more tombstones than the guard allows', () => {
  const GUARD = { maxMissing: 0.5, maxMissingCount: 3, maxDrop: 1 };
  const ten = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'];
  const without = (...lost: string[]) => rows(...ten.filter((id) => !lost.includes(id)));
  const warningsOf = (runId: number) => stream(runId)?.warnings ?? [];

  it('a page that takes away too many records with those before it is left, and a snapshot decides', async () => {
    await pull(giving({ snapshot: [rows(...ten)] }));
    const changes = [[gone('1'), gone('2')], [row('3', 'B'), gone('3'), gone('4'), row('11')], [row('5', 'B')]];
    const { runId, guarded } = await pull(giving({ changes, snapshot: [without('1', '2')] }), { guard: GUARD });
    expect(modes()).toEqual(['snapshot', 'changes', 'snapshot']);
    // Of the second page nothing is stored, and the third one is not read.
    expect(stream(runId)).toMatchObject({ read: 8, unchanged: 8, changed: 0, missing: 2, missedByChanges: null });
    expect(guarded).toEqual([]);
    expect(present(...ten, '11')).toEqual(['3', '4', '5', '6', '7', '8', '9', '10']);
    expect(warningsOf(runId)).toEqual([
      'The changes say that 4 of 10 records with items (40 %, allowed are 3) are gone. These were to be taken away now: 3, 4. So the changes were left, and all records were read.',
    ]);
    await pull(giving({}), { guard: GUARD });
    expect(asked.at(-1)).toEqual({ mode: 'changes', cursor: 'snapshot 1' });
  });

  it('the share counts too, and records that come back in the same page do not', async () => {
    await pull(giving({ snapshot: [rows('1', '2', '3', '4')] }));
    const changes = [[gone('1'), gone('2'), gone('3'), row('3')]];
    const { runId } = await pull(giving({ changes }), { guard: GUARD });
    expect(stream(runId)).toMatchObject({ missing: 3, warnings: [] });
    expect(present('1', '2', '3', '4')).toEqual(['3', '4']);
    await pull(giving({ changes: [[row('1'), row('2')]] }), { guard: GUARD });
    await pull(giving({ changes: [[gone('1')], [gone('2')], [gone('3')]], snapshot: [rows('4')] }), { guard: GUARD });
    expect(modes().slice(3)).toEqual(['changes', 'snapshot']);
    // The guard decides about the snapshot as about any other.
    expect(present('1', '2', '3', '4')).toEqual(['4']);
  });

  it('records without items, and new ones that were not sent, may go', async () => {
    const mapper = mapperOf('r1', ({ id, name }) =>
      text(name) === 'none' ? { status: 'excluded' } : items(product(text(id), text(name))),
    );
    const none = ['a', 'b', 'c', 'd', 'e', 'f'];
    await pull(giving({ snapshot: [[...rows(...ten), ...none.map((id) => row(id, 'none'))]] }), { mapper });
    const changes = [[...none, '1', '2'].map((id) => gone(id)), rows('x', 'y'), [gone('x'), gone('y'), gone('3')]];
    const { runId } = await pull(giving({ changes }), { mapper, guard: GUARD });
    expect(modes()).toEqual(['snapshot', 'changes']);
    expect(stream(runId)).toMatchObject({ missing: 9, warnings: [] });
    expect(world.ledger.views.item('product', 'x')).toBeNull();
  });

  it('a new item of the changes waits for the snapshot that follows, and is held with it', async () => {
    const states: unknown[] = [];
    await pull(giving({ snapshot: [rows(...ten)] }));
    const changes = [rows('x'), ten.slice(0, 6).map((id) => gone(id))];
    const stopping = async function* (from: ReadFrom): AsyncGenerator<Page> {
      if (from.mode === 'snapshot') states.push(world.ledger.views.item('product', 'x')?.state);
      yield* giving({ changes, snapshot: [rows('10', 'x')] })(from);
    };
    await pull(stopping, { guard: GUARD });
    states.push(world.ledger.views.item('product', 'x')?.state);
    expect(states).toEqual(['waiting', 'waiting']);
  });

  it('a snapshot that the guard holds is read again in each run until a person accepts it', async () => {
    await pull(giving({ snapshot: [rows(...ten)] }));
    const lost = { changes: [ten.slice(0, 6).map((id) => gone(id))], snapshot: [rows(...ten.slice(6))] };
    const held = await pull(giving(lost), { guard: GUARD });
    expect(held.guarded).toMatchObject([{ stream: 'default', message: expect.stringContaining('6 of 10 records') }]);
    expect(present(...ten)).toEqual(ten);
    // The changes begin at the end of the held snapshot now, and say nothing about these records any more.
    expect((await pull(giving({ ...lost, changes: [] }), { guard: GUARD })).guarded).toHaveLength(1);
    await world.ledger.accept({ sources: ['erp'] });
    expect((await pull(giving({ ...lost, changes: [] }), { guard: GUARD })).guarded).toEqual([]);
    expect(present(...ten)).toEqual(ten.slice(6));
    await pull(giving({}), { guard: GUARD });
    expect(modes()).toEqual(['snapshot', ...'changes snapshot changes snapshot changes snapshot changes'.split(' ')]);
  });

  it('a run of a stream without snapshots fails, also when it is tried again, until the guard allows more', async () => {
    const only = { reads: 'changes', guard: GUARD } as const;
    await pull(giving({ changes: [rows(...ten)] }), only);
    const changes = [[gone('1'), gone('2')], [gone('3'), gone('4')], [row('5', 'B')]];
    const rest = changes.slice(1);
    for (const left of [changes, rest, rest]) {
      await expect(pull(giving({ changes: left }), only)).rejects.toMatchObject({
        code: 'source.gone',
        exitCode: 4,
        message:
          'erp/default: The changes say that 4 of 10 records with items (40 %, allowed are 3) are gone. These were to be taken away now: 3, 4. So they were left, and none of the changes after them was read.',
        suggestion: expect.stringContaining('guard.maxMissingCount'),
      });
    }
    expect(asked.at(-1)).toEqual({ mode: 'changes', cursor: 'changes 1' });
    expect(present(...ten)).toEqual(ten.slice(2));
    await pull(giving({ changes: rest }), { ...only, guard: { ...GUARD, maxMissingCount: 4 } });
    expect(present(...ten)).toEqual(ten.slice(4));
    await pull(giving({ changes: [[gone('5')]] }), only);
    expect(present(...ten)).toEqual(ten.slice(5));
  });
});

describe('a tombstone that does not say which record it means', () => {
  it('a stream without key columns has no tombstones', async () => {
    const tombstone = gone('1', { place: { file: 'changes', line: 7 } });
    for (const key of [[], ['id']]) {
      const pulled = pull(giving({ changes: [[row('1')], [tombstone]] }), { key, reads: 'changes' });
      if (key.length > 0) await pulled;
      else
        await expect(pulled).rejects.toMatchObject({
          code: 'source.unreadable',
          message: 'erp/default says that a record is gone, and nothing says which one: changes:7.',
          suggestion: 'Name the columns that identify a row in `key` of the stream.',
        });
    }
  });

  it('a tombstone without a usable key, or with an issue, is a row in quarantine', async () => {
    await pull(giving({ snapshot: [rows('1', '2')] }));
    const issue = { code: 'row.value', message: 'The value cannot be read.' };
    const mapper: Mapper = {
      ...mapperOf('r1', () => ({ status: 'excluded' })),
      map: ({ fields, issues }) =>
        issues.length > 0
          ? { status: 'quarantined', issues: [...issues], blockedProducts: [] }
          : items(product(text(fields['id']), 'A')),
    };
    const changes = [[gone(''), gone('1', { issues: [issue] })]];
    const { runId } = await pull(giving({ changes }), { mapper });
    expect(stream(runId)).toMatchObject({ read: 2, quarantined: 2, missing: 0 });
    expect(present('1', '2')).toEqual(['1', '2']);
    const quarantined = world.ledger.views.quarantined({ source: 'erp', afterId: 0, limit: 10 });
    expect(quarantined.map(({ issues }) => issues.map(({ code }) => code))).toEqual([
      ['row.value', 'record.gone'],
      ['record.key', 'record.gone'],
    ]);
    await pull(giving({ changes: [[gone('1')]] }), { mapper });
    expect(present('1', '2')).toEqual(['2']);
  });
});

describe('changes whose position is lost', () => {
  const WHY = 'The server has forgotten the position of the changes.';
  const lost = (byMode: Parameters<typeof giving>[0]) => {
    const others = giving(byMode);
    return async function* pull(from: ReadFrom): AsyncGenerator<Page> {
      yield* others(from);
      if (from.mode === 'changes') {
        yield { rows: [], beginAgain: WHY };
        throw new Error('It was read on.');
      }
    };
  };

  it('a snapshot follows in the same run, and people are told why', async () => {
    await pull(giving({ snapshot: [rows('1', '2')] }));
    const { runId } = await pull(lost({ changes: [[row('3')]], snapshot: [rows('2', '3', '4')] }));
    expect(modes()).toEqual(['snapshot', 'changes', 'snapshot']);
    expect(stream(runId)).toMatchObject({ read: 4, changed: 2, missing: 1, missedByChanges: null, warnings: [WHY] });
    expect(present('1', '2', '3', '4')).toEqual(['2', '3', '4']);
    await pull(giving({}));
    expect(asked.at(-1)).toEqual({ mode: 'changes', cursor: 'snapshot 1' });
  });

  it('the changes are asked for again if the snapshot was stopped', async () => {
    await pull(giving({ snapshot: [rows('1', '2')] }));
    const abort = new AbortController();
    const stopped = async function* (from: ReadFrom): AsyncGenerator<Page> {
      for await (const page of lost({ snapshot: [rows('2')] })(from)) {
        yield page;
        if (from.mode === 'snapshot') abort.abort();
      }
    };
    await pull(stopped, { abort: abort.signal });
    expect(present('1', '2')).toEqual(['1', '2']);
    await pull(lost({ snapshot: [rows('2')] }));
    expect(asked.slice(1)).toEqual([
      { mode: 'changes', cursor: 'snapshot 1' },
      { mode: 'snapshot', cursor: null },
      { mode: 'changes', cursor: 'snapshot 1' },
      { mode: 'snapshot', cursor: null },
    ]);
    expect(present('1', '2')).toEqual(['2']);
  });

  it.each<[StreamReads, string]>([
    ['changes', 'gives no snapshots'],
    ['snapshot', 'is being read completely'],
  ])('a run fails where no snapshot can follow: %s', async (reads, what) => {
    const again = async function* (): AsyncGenerator<Page> {
      yield { rows: [], beginAgain: WHY };
    };
    await expect(pull(again, { reads })).rejects.toMatchObject({
      code: 'source.unreadable',
      message: `erp/default cannot be read from its beginning: ${WHY}`,
      suggestion: expect.stringContaining(what),
    });
  });
});
