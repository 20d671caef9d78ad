import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { PAGE_ROWS_MAX } from '../page-buffer.ts';
import type { CheckMaker } from './check.ts';
import { errorOf, type SourceUnderTest, sourceUnderTest, withLarge } from './source-under-test.ts';

const ROWS = 40_000;
/** How many rows the source has. All of them in memory would take more than is allowed. */
const MANY_ROWS = 200_000;
const HELD_BYTES_MAX = 16 * 1024 * 1024;
const PAGES_TAKEN = 4;
/** How long a connector that reads ahead has time to do so, before it is measured. */
const PAUSE_MS = 50;
const PAGES_AFTER_ABORT_MAX = 1;
const CLOSE_MS_MAX = 2_000;

/** Checks how much memory, how much time and how many handles a connector uses. */
export const hostChecks: CheckMaker = (connector, { folder, samples, unreachable, large }) => [
  {
    name: 'holds a page at a time, and reads no further than one page ahead',
    run: () =>
      withLarge(
        (at) => large(MANY_ROWS, at),
        async (settings, at) => {
          const source = sourceUnderTest({ connector, folder: at, settings });
          const before = await heldBytes();
          let taken = 0;
          let pages = 0;
          for await (const page of source.pages()) {
            taken += page.rows.length;
            pages += 1;
            const held = (await heldBytes()) - before;
            const ahead = (settings.given?.() ?? taken) - taken;
            assert.ok(ahead <= 2 * PAGE_ROWS_MAX, `${ahead} rows were read before the caller asked for them.`);
            assert.ok(held <= HELD_BYTES_MAX, `${held} bytes are held after ${taken} rows.`);
            if (pages === PAGES_TAKEN) break;
          }
          assert.ok(taken < MANY_ROWS, 'A few pages have all rows.');
        },
      ),
  },
  {
    name: 'stops when its signal is aborted, with the reason of the signal',
    async run() {
      const reason = new Error('The check stops the connector.');
      const [settings] = samples;
      const source = sourceUnderTest({ connector, folder, settings });
      const signal = AbortSignal.abort(reason);
      assert.equal(await errorOf(takeAll(source, signal), 'A pull that was stopped before'), reason);
      assert.equal(await errorOf(source.check(signal), 'A check that was stopped before'), reason);
      await withLarge(
        (at) => large(ROWS, at),
        async (largeSettings, at) => {
          const abort = new AbortController();
          const largeSource = sourceUnderTest({ connector, folder: at, settings: largeSettings });
          let after = 0;
          const pull = async (): Promise<void> => {
            for await (const _ of largeSource.pages({ signal: abort.signal })) {
              if (abort.signal.aborted) after += 1;
              abort.abort(reason);
            }
          };
          assert.equal(await errorOf(pull(), 'A pull that is stopped'), reason);
          assert.ok(after <= PAGES_AFTER_ABORT_MAX, `${after} pages were read after the stop.`);
        },
      );
    },
  },
  {
    name: 'leaves nothing open: after a whole read, a read that was left, an error and a stop',
    run: () =>
      withLarge(
        (at) => large(ROWS, at),
        async (settings, at) => {
          const source = sourceUnderTest({ connector, folder: at, settings });
          // The first use may load modules that stay loaded, so it is not measured.
          await source.check();
          const before = await openHandles();
          await source.rows();
          await source.check();
          for await (const page of source.pages()) if (page.rows.length > 0) break;
          const abort = new AbortController();
          abort.abort();
          await takeAll(source, abort.signal).catch(() => {});
          const nowhere = sourceUnderTest({ connector, folder, settings: unreachable });
          await nowhere.rows().catch(() => {});
          await nowhere.check().catch(() => {});
          await assertClosed(before);
        },
      ),
  },
];

async function takeAll(source: SourceUnderTest, signal: AbortSignal): Promise<void> {
  for await (const _ of source.pages({ signal }));
}

/** The bytes in use after two garbage collections, because the first one frees the memory of buffers with a delay. */
async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  await setTimeout(PAUSE_MS);
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How many handles are open, by their kind. */
async function openHandles(): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const kinds = process.getActiveResourcesInfo().filter((kind) => kind !== 'Immediate' && kind !== 'TickObject');
  // This folder does not exist on Windows.
  const files = await readdir('/dev/fd').catch(() => []);
  for (const kind of [...kinds, ...files.map(() => 'file descriptor')]) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Waits for handles that were closed, because a handle may take a moment to disappear. */
async function assertClosed(before: ReadonlyMap<string, number>): Promise<void> {
  const begin = performance.now();
  for (;;) {
    const left = [...(await openHandles())].filter(([kind, count]) => count > (before.get(kind) ?? 0));
    if (left.length === 0) return;
    const names = left.map(([kind, count]) => `${count - (before.get(kind) ?? 0)} × ${kind}`).join(', ');
    assert.ok(performance.now() - begin < CLOSE_MS_MAX, `These are open after \`close\`: ${names}.`);
    await setTimeout(PAUSE_MS);
  }
}
