import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
afterEach(() => world.remove());

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);

/** The passport of P1 is public, and P1 has left the export. */
async function loseP1(onMissing: 'flag' | 'unpublish' = 'flag'): Promise<void> {
  const guard = { maxMissing: '100%', maxDrop: '100%' };
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES.map((source) => ({ ...source, guard, onMissing })) },
    files: smallFiles(SMALL),
    sandbox: { gates: { materialData: { enabled: false } } },
  });
  await world.sync();
  expect((await run('publish', 'SKU-P1')).exitCode).toBe(0);
  const products = SMALL.products.filter(({ id }) => id !== 'P1');
  world.write('exports/products.csv', smallFiles({ ...SMALL, products })['exports/products.csv'] ?? '');
  await world.sync();
}

describe('a product that is gone from its source', () => {
  it.each([
    { decision: 'its passport is withdrawn by hand', words: [['unpublish', 'SKU-P1']] },
    { decision: 'a person accepts it', words: [['settle', 'SKU-P1', '--ignore']] },
    {
      decision: 'its passport is withdrawn, and a person accepts it',
      words: [
        ['unpublish', 'SKU-P1'],
        ['settle', 'SKU-P1', '--ignore'],
      ],
    },
    { decision: 'the config withdraws its passport', words: [], onMissing: 'unpublish' as const },
  ])(
    'one decision about a missing product is enough, and a second one is accepted: $decision',
    async ({ words, onMissing }) => {
      await loseP1(onMissing);
      if (words.length > 0) {
        const { stdout } = await run('show', 'product', 'SKU-P1');
        expect(stdout).toMatch(/One command is enough\. .* unpublish P1`.* settle --ignore P1`/);
        const asked = await run('why', 'SKU-P1');
        expect(asked.stdout).toMatch(
          /rightly gone, one command is enough: `.* unpublish SKU-P1` .* settle --ignore P1` /,
        );
      }
      for (const word of words) expect((await run(...word)).exitCode).toBe(0);
      expect((await run('status', '--json')).json()).toMatchObject({ missing: {} });
      const shown = await run('show', 'product', 'SKU-P1');
      expect(shown.stdout).toContain('missing from its source, whose row is gone');
      expect(shown.stdout).toMatch(/next step +Nothing: /);
      expect(shown.stdout).not.toMatch(/ unpublish | settle /);
      const told = await run('why', 'SKU-P1');
      expect(told.stdout).toContain('If the row is rightly gone, nothing has to be done: ');
      expect(told.stdout).not.toMatch(/ publish SKU| unpublish | settle /);

      const again = await run('settle', 'SKU-P1', '--ignore');
      expect(again.exitCode).toBe(0);
      expect(again.stdout).toContain('Noted. The product P1 may be missing from its source.');
    },
  );
});
