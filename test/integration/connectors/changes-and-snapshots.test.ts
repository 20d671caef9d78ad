// What a pull asks a stream for, by what the stream can give: everything there is, what has changed, or both.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Page, SourceRow } from '../../../src/domain/ports/source.ts';
import type { JsonValue } from '../../../src/lib/json.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import {
  createPageWorld,
  type PageRequest,
  type PageWorld,
  pagesOf,
  type ReadFrom,
  sourceRow,
} from '../../support/worlds/page-world.ts';

const DAY_MS = 86_400_000;

let world: PageWorld;
let clock: ReturnType<typeof createManualClock>;
let asked: ReadFrom[];

beforeEach(async () => {
  clock = createManualClock();
  world = await createPageWorld({ clock });
  asked = [];
});
afterEach(() => world.remove());

/** A stream that gives these rows in pages of two, with a cursor after each. */
function giving(
  byMode: Partial<Record<ReadFrom['mode'], readonly SourceRow[]>>,
  cursors: readonly JsonValue[] = [1, 2, 3, 4],
) {
  return async function* pull(from: ReadFrom): AsyncGenerator<Page> {
    asked.push(from);
    const pages = pagesOf(byMode[from.mode] ?? [], 2);
    for (const [at, rows] of pages.entries()) yield { rows, cursor: cursors[at] ?? null };
  };
}

function pull(pages: PageRequest['pages'], more: Partial<PageRequest> = {}) {
  return world.pull({ pages, reads: 'changes-and-snapshot', snapshotEveryMs: 7 * DAY_MS, ...more });
}

const rows = (...ids: string[]) => ids.map((id, at) => sourceRow({ id }, at + 2));
const stream = (runId: number) => world.ledger.views.run(runId)?.streams[0];

describe('a stream that can give changes and snapshots', () => {
  it('a stream with changes and snapshots is read completely first, and from the end of that read on afterwards', async () => {
    await pull(giving({ snapshot: rows('1', '2', '3') }));
    await pull(giving({ changes: rows('4') }, ['later']));
    await pull(giving({ changes: rows() }));
    expect(asked).toEqual([
      { mode: 'snapshot', cursor: null },
      { mode: 'changes', cursor: 2 },
      { mode: 'changes', cursor: 'later' },
    ]);
  });

  it('a stream with changes and snapshots does not count a record as missing that a read of changes did not give', async () => {
    await pull(giving({ snapshot: rows('1', '2') }));
    const { runId } = await pull(giving({ changes: rows('2') }));
    expect(stream(runId)).toMatchObject({ read: 1, missing: 0, missedByChanges: null });
  });

  it('a stream is read completely again when its last complete read is old, and shows what the changes have missed', async () => {
    await pull(giving({ snapshot: rows('1', '2', '3') }));
    clock.advance(7 * DAY_MS);
    const { runId } = await pull(giving({ changes: rows('4'), snapshot: rows('1', '2', '4', '5') }, ['a', 'b']));
    expect(asked.slice(1)).toEqual([
      { mode: 'changes', cursor: 2 },
      { mode: 'snapshot', cursor: null },
    ]);
    expect(stream(runId)).toMatchObject({ read: 5, unchanged: 3, changed: 2, missing: 1, missedByChanges: 1 });
    await pull(giving({ changes: rows() }));
    expect(asked.at(-1)).toEqual({ mode: 'changes', cursor: 'b' });
  });

  it('a complete read that was interrupted begins again, because its cursors are not stored', async () => {
    const abort = new AbortController();
    const interrupted = async function* (from: ReadFrom): AsyncGenerator<Page> {
      yield* giving({ snapshot: rows('1', '2') })(from);
      abort.abort();
    };
    expect(await pull(interrupted, { abort: abort.signal })).toMatchObject({ result: 'interrupted' });
    await pull(giving({ snapshot: rows('1', '2', '3') }));
    expect(asked).toEqual([
      { mode: 'snapshot', cursor: null },
      { mode: 'snapshot', cursor: null },
    ]);
  });

  it('a stream keeps the cursor of its changes where a later complete read is interrupted', async () => {
    await pull(giving({ snapshot: rows('1') }));
    clock.advance(7 * DAY_MS);
    const abort = new AbortController();
    const interrupted = async function* (from: ReadFrom): AsyncGenerator<Page> {
      const cursors = from.mode === 'changes' ? ['of changes'] : ['of the snapshot'];
      yield* giving({ changes: rows('2'), snapshot: rows('1', '2') }, cursors)(from);
      if (from.mode === 'snapshot') abort.abort();
    };
    await pull(interrupted, { abort: abort.signal });
    await pull(giving({ changes: rows(), snapshot: rows('1', '2') }));
    expect(asked.slice(3)).toEqual([
      { mode: 'changes', cursor: 'of changes' },
      { mode: 'snapshot', cursor: null },
    ]);
  });

  it('a stream is read completely as often as it says itself, and else as its source says', async () => {
    const daily = { ownSnapshotEveryMs: DAY_MS };
    const monthly = { ownSnapshotEveryMs: 30 * DAY_MS };
    await pull(giving({ snapshot: rows('1') }), monthly);
    clock.advance(10 * DAY_MS);
    for (const more of [monthly, {}, {}, daily]) await pull(giving({ changes: rows(), snapshot: rows('1') }), more);
    clock.advance(DAY_MS);
    for (const more of [monthly, {}, daily]) await pull(giving({ changes: rows(), snapshot: rows('1') }), more);
    const modes = asked.map(({ mode }) => mode).join(' ');
    expect(modes).toBe('snapshot changes changes snapshot changes changes changes changes changes snapshot');
  });

  it('a stream is read completely when the clock was set back to before the last complete read', async () => {
    await pull(giving({ snapshot: rows('1') }));
    clock.jump(-DAY_MS);
    await pull(giving({ changes: rows(), snapshot: rows('1') }));
    expect(asked.slice(1).map(({ mode }) => mode)).toEqual(['changes', 'snapshot']);
  });
});

describe('a stream that gives changes alone', () => {
  it('a stream that gives changes alone continues after the last stored page where it was interrupted', async () => {
    const abort = new AbortController();
    const interrupted = async function* (from: ReadFrom): AsyncGenerator<Page> {
      for await (const page of giving({ changes: rows('1', '2', '3', '4') })(from)) {
        yield page;
        abort.abort();
      }
    };
    await pull(interrupted, { reads: 'changes', abort: abort.signal });
    await pull(giving({ changes: rows('3', '4') }), { reads: 'changes' });
    expect(asked).toEqual([
      { mode: 'changes', cursor: null },
      { mode: 'changes', cursor: 1 },
    ]);
  });
});

describe('a record that has changed twice in one read of changes', () => {
  const changedTo = (id: string, name: string, line: number) => sourceRow({ id, name }, line);

  it.each<[string, SourceRow[]]>([
    ['in one page', [changedTo('1', 'older', 2), changedTo('1', 'newer', 3)]],
    ['in two pages', [changedTo('1', 'older', 2), changedTo('2', 'other', 3), changedTo('1', 'newer', 4)]],
    ['and back', [changedTo('1', 'newer', 2), changedTo('1', 'older', 3), changedTo('1', 'newer', 4)]],
  ])('a record that has changed twice in one read of changes has its last content: %s', async (_, changes) => {
    const { runId } = await pull(giving({ changes }), { reads: 'changes' });
    expect(stream(runId)).toMatchObject({ read: changes.length, changed: changes.length, quarantined: 0 });
    expect(world.ledger.views.item('product', '1')).toMatchObject({ name: 'newer' });
    expect(asked.at(-1)).toEqual({ mode: 'changes', cursor: null });
  });

  it('a record that has changed twice is stored with the cursor of its page, and not before all of the page is stored', async () => {
    await pull(giving({ changes: [changedTo('1', 'older', 2), changedTo('1', 'newer', 3)] }), { reads: 'changes' });
    await pull(giving({}), { reads: 'changes' });
    expect(asked.at(-1)).toEqual({ mode: 'changes', cursor: 1 });
  });
});

describe('a source that has no new export', () => {
  const nothing = async function* (): AsyncGenerator<Page> {
    yield { rows: [], nothingNew: true };
  };

  it('a source that has no new export loses nothing', async () => {
    await pull(giving({ snapshot: rows('1', '2') }), { reads: 'snapshot' });
    const { runId, result } = await pull(nothing, { reads: 'snapshot' });
    expect(result).toBe('complete');
    expect(stream(runId)).toMatchObject({ read: 0, missing: 0, guarded: null });
  });

  it('a source that has no new export is not read completely before it has had one', async () => {
    await expect(pull(nothing, { reads: 'snapshot' })).rejects.toMatchObject({
      code: 'source.unreadable',
      message: 'erp/default has no export yet: there is nothing to read.',
    });
  });
});

describe('what was read', () => {
  let acknowledged: (readonly string[])[];
  beforeEach(() => {
    acknowledged = [];
  });
  const acknowledge = (streams: readonly string[]) => void acknowledged.push(streams);

  it('a read is acknowledged once, after all of it was stored', async () => {
    await pull(giving({ snapshot: rows('1', '2', '3') }), { reads: 'snapshot', acknowledge });
    expect(acknowledged).toEqual([['default']]);
  });

  it('a read is not acknowledged where the guard takes it for broken', async () => {
    await pull(giving({ snapshot: rows('1', '2', '3', '4') }), { reads: 'snapshot' });
    const guard = { maxMissing: 0.5, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 0.5 };
    await pull(giving({ snapshot: rows('1') }), { reads: 'snapshot', acknowledge, guard });
    expect(acknowledged).toEqual([[]]);
  });

  it('a read is not acknowledged where the pull was stopped or failed', async () => {
    const abort = new AbortController();
    const stopped = async function* (from: ReadFrom): AsyncGenerator<Page> {
      yield* giving({ snapshot: rows('1') })(from);
      abort.abort();
    };
    const failing = async function* (from: ReadFrom): AsyncGenerator<Page> {
      yield* giving({ snapshot: rows('1') })(from);
      throw new Error('The file ends in the middle.');
    };
    await pull(stopped, { reads: 'snapshot', acknowledge, abort: abort.signal });
    await expect(pull(failing, { reads: 'snapshot', acknowledge })).rejects.toThrow('ends in the middle');
    expect(acknowledged).toEqual([]);
  });

  it('a read that cannot be acknowledged fails the run', async () => {
    const refusing = () => {
      throw new Error('The archive is full.');
    };
    const failed = pull(giving({ snapshot: rows('1') }), { reads: 'snapshot', acknowledge: refusing });
    await expect(failed).rejects.toThrow('The archive is full.');
    expect(world.ledger.views.lastRuns({ limit: 1 })).toMatchObject([{ result: 'failed' }]);
  });
});
