import { expect, it } from 'vitest';
import { createRecheck } from '../../../src/delivery/recheck.ts';

it('the recheck asks again page by page, lets other work run between pages, and then rests for a minute', async () => {
  let now = 0;
  let blocked = 600;
  const ledger = {
    async recheckBlocked({ limit }: { limit: number }) {
      const staged = Math.min(limit, blocked);
      blocked -= staged;
      return { staged, more: staged === limit };
    },
  };
  const recheck = createRecheck({ ledger, now: () => now });
  const looks: [number, boolean][] = [];
  for (let round = 0; round < 4; round += 1) looks.push([await recheck.stageNext(), recheck.hasMore()]);
  expect(looks).toEqual([
    [250, true],
    [250, true],
    [100, false],
    [0, false],
  ]);
  blocked = 5;
  now += 59_999;
  expect(await recheck.stageNext()).toBe(0);
  now += 1;
  expect(await recheck.stageNext()).toBe(5);
});
