// Generated changes: rows, tombstones and returns in pages of any size, lost positions, snapshots in between, broken guards, and
// processes that die at a page. A count that shares no code with the pipeline says which records have to be present.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Page, SourceRow, StreamReads } from '../../../src/domain/ports/source.ts';
import { Fault } from '../../../src/lib/errors.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { createPageWorld, mapperOf, type PageWorld, type ReadFrom } from '../../support/worlds/page-world.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'] as const;
const COPIES_MAX = 3;
const ALLOWS_ALL = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };
const STRICT = { maxMissing: 0.6, maxMissingCount: 2, maxDrop: 1 };

/** What happens in the source. A copy is a second row with the same key, which only a snapshot shows. */
type Event = { do: 'set' | 'remove' | 'copy'; id: (typeof IDS)[number]; name: string };
interface Night {
  events: Event[];
  /** How many rows a page has. */
  size: number;
  /** Whether the source forgets the position, and whether a snapshot is due. */
  forgets: boolean;
  isDue: boolean;
  isStrict: boolean;
  /** The process dies at this page of the night, before or after the page is stored; null if it does not. */
  dies: { at: number; when: 'before' | 'after' } | null;
}

const event: fc.Arbitrary<Event> = fc.record({
  do: fc.constantFrom('set', 'set', 'set', 'remove', 'remove', 'copy'),
  id: fc.constantFrom(...IDS),
  name: fc.constantFrom('A', 'B'),
});
const night: fc.Arbitrary<Night> = fc.record({
  events: fc.array(event, { maxLength: 12 }),
  size: fc.integer({ min: 1, max: 6 }),
  forgets: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
  isDue: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
  isStrict: fc.boolean(),
  dies: fc.option(fc.record({ at: fc.integer({ min: 1, max: 5 }), when: fc.constantFrom('before', 'after') })),
});
const script = fc.record({
  reads: fc.constantFrom<StreamReads>('changes', 'changes-and-snapshot'),
  nights: fc.array(night, { minLength: 2, maxLength: 6 }),
});

/** The names of the records of each id, by their occurrence. */
type Content = Map<string, string[]>;

const mapper = mapperOf('r1', ({ id, n, name }) => items(product(`${text(id)}${text(n)}`, text(name))));
const rowOf = (id: string, n: number, name: string): SourceRow => ({
  fields: { id, n: String(n), name },
  place: { file: 'source', path: `${id}${n}` },
});
const tombstoneOf = (id: string): SourceRow => ({ fields: { id }, place: { file: 'source', path: id }, isGone: true });

/** The source: its content, its log, and what its reads have shown. */
function createSource() {
  const content: Content = new Map();
  const log: ({ id: string } & ({ name: string } | { isGone: true }))[] = [];
  let epoch = 0;
  /** What somebody knows who has seen all that was read. */
  let shown: Content = new Map();
  let seen = 0;
  /** How many present records the changes have taken away. */
  let taken = 0;
  const snapshots: SourceRow[][] = [];

  function tell({ id, ...change }: (typeof log)[number]): void {
    const before = shown.get(id) ?? [];
    if ('isGone' in change) taken += before.length;
    shown.set(id, 'isGone' in change ? [] : [change.name, ...before.slice(1)]);
  }

  return {
    happen({ do: what, id, name }: Event): void {
      const names = content.get(id) ?? [];
      if (what === 'copy') {
        if (names.length > 0 && names.length < COPIES_MAX) content.set(id, [...names, name]);
        return;
      }
      content.set(id, what === 'remove' ? [] : [name, ...names.slice(1)]);
      // A tombstone may also come for a record that was never there.
      log.push(what === 'remove' ? { id, isGone: true } : { id, name });
    },
    forget: () => void (epoch += 1),
    takenSince(before: number): number {
      return taken - before;
    },
    taken: () => taken,
    shown: () => shown,
    /** True if the last run has read a snapshot. */
    hadSnapshot: () => snapshots.length > 0,
    begin: () => void (snapshots.length = 0),
    async *pull({ mode, cursor }: ReadFrom, size: number): AsyncGenerator<Page> {
      const pages = (rows: readonly SourceRow[]) =>
        Array.from({ length: Math.max(1, Math.ceil(rows.length / size)) }, (_, at) =>
          rows.slice(at * size, (at + 1) * size),
        );
      if (mode === 'snapshot') {
        const rows = [...content].flatMap(([id, names]) => names.map((name, at) => rowOf(id, at + 1, name)));
        snapshots.push(rows);
        shown = new Map([...content].map(([id, names]) => [id, [...names]]));
        seen = log.length;
        const all = pages(rows);
        for (const [at, page] of all.entries())
          yield { rows: page, ...(at === all.length - 1 ? { cursor: { epoch, at: log.length } } : {}) };
        return;
      }
      const from = (cursor ?? { epoch, at: 0 }) as { epoch: number; at: number };
      if (from.epoch !== epoch) {
        yield { rows: [], beginAgain: 'The source has forgotten the position.' };
        return;
      }
      let at = from.at;
      for (const page of pages(
        log.slice(at).map((one) => ('isGone' in one ? tombstoneOf(one.id) : rowOf(one.id, 1, one.name))),
      )) {
        at += page.length;
        for (; seen < at; seen += 1) {
          const one = log[seen];
          if (one !== undefined) tell(one);
        }
        yield { rows: page, cursor: { epoch, at } };
      }
    },
  };
}

/** The records that the ledger has as present, with their names. */
function presentIn(world: PageWorld): Record<string, string> {
  const found: Record<string, string> = {};
  for (const id of IDS) {
    for (let n = 1; n <= COPIES_MAX; n += 1) {
      const item = world.ledger.views.item('product', `${id}${n}`);
      if (item !== null && !item.missing) found[`${id}${n}`] = item.name ?? '';
    }
  }
  return found;
}

const presentOf = (content: Content): Record<string, string> =>
  Object.fromEntries([...content].flatMap(([id, names]) => names.map((name, at) => [`${id}${at + 1}`, name])));

interface Killing {
  dies: Night['dies'];
  isDead: boolean;
}

async function createMortalWorld(killing: Killing): Promise<PageWorld> {
  return createPageWorld({
    aroundLedger: (ledger) => ({
      ...ledger,
      async stagePage(page) {
        if (killing.dies === null) return ledger.stagePage(page);
        killing.dies.at -= 1;
        if (killing.dies.at > 0) return ledger.stagePage(page);
        killing.isDead = true;
        if (killing.dies.when === 'after') await ledger.stagePage(page);
        throw new Error('The process has died.');
      },
      // A process that has died ends no run.
      endRun: async (end) => (killing.isDead ? [] : ledger.endRun(end)),
    }),
  });
}

async function play({ reads, nights }: { reads: StreamReads; nights: readonly Night[] }): Promise<void> {
  const killing: Killing = { dies: null, isDead: false };
  const world = await createMortalWorld(killing);
  const source = createSource();
  try {
    for (const { events, size, forgets, isDue, isStrict, dies } of nights) {
      for (const one of events) source.happen(one);
      if (forgets && reads !== 'changes') source.forget();
      const run = async (guard: typeof STRICT) => {
        source.begin();
        const taken = source.taken();
        const ownSnapshotEveryMs = isDue ? 1 : Number.MAX_SAFE_INTEGER;
        const pages = (from: ReadFrom) => source.pull(from, size);
        const pulled = await world.pull({ pages, reads, mapper, guard, ownSnapshotEveryMs });
        return { ...pulled, taken: source.takenSince(taken) };
      };
      killing.dies = dies === null ? null : { ...dies };
      const first = await run(isStrict ? STRICT : ALLOWS_ALL).catch((error: unknown) => error as Error);
      killing.dies = null;
      let last = first;
      if (killing.isDead) {
        killing.isDead = false;
        await world.reopen();
        last = await run(isStrict ? STRICT : ALLOWS_ALL).catch((error: unknown) => error as Error);
      }
      if (last instanceof Error) {
        expect(last instanceof Fault && last.code).toBe('source.gone');
        expect(reads).toBe('changes');
        last = await run(ALLOWS_ALL);
      } else if (last.guarded.length > 0) {
        expect(source.hadSnapshot()).toBe(true);
        await world.ledger.accept({ sources: ['erp'] });
        last = await run(isStrict ? STRICT : ALLOWS_ALL);
      }
      expect(last).toMatchObject({ result: 'complete', guarded: [] });
      await world.mapStored();
      expect(presentIn(world)).toEqual(presentOf(source.shown()));
      const account = world.ledger.views.run(last.runId)?.streams[0];
      const { read = 0, unchanged = 0, changed = 0, quarantined = 0, excluded = 0 } = account ?? {};
      expect(read).toBe(unchanged + changed + quarantined + excluded);
      // A run without trouble counts each record that the changes took away.
      if (last === first && reads === 'changes') expect(account?.missing).toBe(last.taken);
    }
  } finally {
    await world.remove();
  }
}

it('the ledger has the records that a source has, whatever its changes, its pages and its reads are', async () => {
  await fc.assert(fc.asyncProperty(script, play), { numRuns: 40 });
});
