import { describe, expect, it } from 'vitest';
import { createVirtualTime } from '../support/time/virtual-time.ts';
import { createFence } from './world/fence.ts';

describe('a change beside a chosen call', () => {
  it.each([
    { side: 'first in the same commit', commits: [['claim', 'stagePage']] },
    { side: 'last in the same commit', commits: [['stagePage', 'claim']] },
    { side: 'before', commits: [['stagePage'], ['claim']] },
    { side: 'after', commits: [['claim'], ['stagePage']] },
  ] as const)('a change beside a chosen call comes $side', async ({ side, commits }) => {
    const time = createVirtualTime(0);
    const ignore = (): void => undefined;
    const fence = createFence({ time, onDeath: ignore, onCircle: ignore, pauseMs: () => 0 });
    const ledger = createCommits();
    const port = fence.around(ledger);
    fence.planAt({ names: ['claim'], calls: 1, side }, async () => {
      await port.other();
      await port.stagePage();
    });
    await port.claim();
    await port.claim();
    expect(ledger.commits.filter((names) => names[0] !== 'other').slice(1)).toEqual(commits);
  });
});

/** Writes that are committed in the next turn of the event loop, as the ledger commits them. */
function createCommits() {
  const commits: string[][] = [];
  let gathered: { name: string; resolve: () => void }[] = [];
  const write = (name: string): Promise<void> =>
    new Promise((resolve) => {
      gathered.push({ name, resolve });
      if (gathered.length > 1) return;
      setImmediate(() => {
        commits.push(gathered.map((one) => one.name));
        for (const one of gathered.splice(0)) one.resolve();
      });
    });
  return {
    commits,
    claim: () => write('claim'),
    stagePage: () => write('stagePage'),
    other: () => write('other'),
  };
}
