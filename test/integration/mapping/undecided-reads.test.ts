// Reads that show nothing about the records that a stream had: what the guard holds from earlier reads stays held.

import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { Page, SourceRow } from '../../../src/domain/ports/source.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import {
  createPageWorld,
  mapperOf,
  type PageWorld,
  type ReadFrom,
  sourceRow,
} from '../../support/worlds/page-world.ts';

const GUARD = { maxMissing: 0.05, maxMissingCount: 1000, maxDrop: 1 };
const NEWEST = 10_000;

let world: PageWorld;
let clock: ReturnType<typeof createManualClock>;
afterEach(() => world.remove());

const rows = (prefix: string, count: number, name = 'A') =>
  Array.from({ length: count }, (_, at) => sourceRow({ id: `${prefix}${at}`, name }, at + 2));
const refused: MapResult = {
  status: 'quarantined',
  issues: [{ code: 'field.required', message: 'The name is missing.' }],
  blockedProducts: [],
};
const mapper = mapperOf('r1', ({ id, name }) => (name === '' ? refused : items(product(text(id), text(name)))));

interface Read {
  rows: readonly SourceRow[];
  at: number;
  /** What happens after the first page. */
  ending?: () => void;
}

/** Reads the changes, of which there are none, and then a snapshot. */
async function read({ rows: all, at, ending }: Read, abort = new AbortController()): Promise<void> {
  const pages = async function* ({ mode }: ReadFrom): AsyncGenerator<Page> {
    if (mode === 'changes') yield { rows: [], cursor: 1 };
    else yield { rows: [...all], cursor: 1, asOf: { file: 'a.csv', at } };
    if (mode === 'snapshot') ending?.();
  };
  const request = { pages, mapper, reads: 'changes-and-snapshot', snapshotEveryMs: 0, guard: GUARD } as const;
  await Promise.allSettled([world.pull({ ...request, abort: abort.signal })]);
}

const fail = (): never => {
  throw new Error('cut off');
};

/** What the guard holds, without the run of the last read. */
function heldNow() {
  const db = new Database(world.file, { readonly: true });
  const ids = (sql: string) => db.prepare<[], number>(sql).pluck().all();
  const held = {
    creates: ids("SELECT h.item_id FROM held_creates h JOIN items i ON i.id = h.item_id WHERE i.state = 'waiting'"),
    lost: ids('SELECT record_id FROM lost_records ORDER BY 1'),
    reads: world.ledger.views
      .guardedReads()
      .filter(({ isOlder }) => !isOlder)
      .map(({ message, missing, gone }) => ({ message, missing, gone })),
  };
  db.close();
  return held;
}

const EARLIER: Record<string, () => Promise<void>> = {
  'the guard holds an export with its creates': () => read({ rows: rows('X', 40), at: NEWEST }),
  'the guard holds an export without creates': () => read({ rows: rows('P', 30), at: NEWEST }),
  'a read has failed, and its creates wait': () => read({ rows: rows('F', 5), at: NEWEST, ending: fail }),
  'the guard holds nothing': () => Promise.resolve(),
};

const UNDECIDED: Record<string, () => Promise<void>> = {
  'is held as older': () => read({ rows: rows('P', 40, 'former'), at: 2000 }),
  'fails midway': () => read({ rows: rows('Y', 20), at: NEWEST + 1, ending: fail }),
  'has only refused rows': () => read({ rows: rows('P', 40, ''), at: NEWEST + 1 }),
  'is aborted': () => {
    const abort = new AbortController();
    return read({ rows: rows('Y', 20), at: NEWEST + 1, ending: () => abort.abort() }, abort);
  },
  'has nothing new': async () => {
    const pages = async function* (): AsyncGenerator<Page> {
      yield { rows: [], nothingNew: true };
    };
    await world.pull({ pages, mapper });
  },
};

async function begin(earlier: string): Promise<void> {
  clock = createManualClock();
  world = await createPageWorld({ clock });
  await read({ rows: rows('P', 40), at: 5000 });
  clock.advance(1000);
  await EARLIER[earlier]?.();
  clock.advance(1000);
}

describe.each(Object.keys(EARLIER))('a read after one of which %s', (earlier) => {
  it.each(Object.keys(UNDECIDED))('a read that %s changes nothing that is held', async (next) => {
    await begin(earlier);
    const before = heldNow();
    for (const _ of ['once', 'again']) {
      await UNDECIDED[next]?.();
      const { creates, ...others } = heldNow();
      expect(others).toEqual({ lost: before.lost, reads: before.reads });
      expect(creates).toEqual(expect.arrayContaining(before.creates));
    }
    await read({ rows: rows('P', 40), at: NEWEST + 2 });
    expect(heldNow()).toEqual({ creates: [], lost: [], reads: [] });
    expect(world.ledger.views.guardedReads()).toEqual([]);
  });
});

describe('what is held', () => {
  it.each([
    ['the guard holds an export with its creates', { creates: 40, reads: 1 }],
    ['the guard holds an export without creates', { creates: 0, reads: 1 }],
    ['a read has failed, and its creates wait', { creates: 5, reads: 0 }],
    ['the guard holds nothing', { creates: 0, reads: 0 }],
  ])('%s', async (earlier, { creates, reads }) => {
    await begin(earlier);
    const held = heldNow();
    expect([held.creates.length, held.reads.length]).toEqual([creates, reads]);
  });

  it('an older export and the one before it are both shown, and both are accepted', async () => {
    await begin('the guard holds an export with its creates');
    await UNDECIDED['is held as older']?.();
    const guarded = world.ledger.views.guardedReads();
    expect(guarded.map(({ isOlder, creates }) => [isOlder, creates])).toEqual([
      [false, 40],
      [true, 0],
    ]);
    expect(await world.ledger.accept({ sources: ['erp'] })).toMatchObject({ reads: [{}, {}] });
    await UNDECIDED['is held as older']?.();
    expect(world.ledger.views.guardedReads()).toEqual([]);
  });
});
