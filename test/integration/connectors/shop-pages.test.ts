// The examples of docs/connectors/shops.md, each against a server that behaves as the documentation of the system says.

import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../../src/lib/clock.ts';
import type { JsonObject } from '../../../src/sdk/index.ts';
import { filesOfPage } from '../../support/docs/page-files.ts';
import { deliveredTo, type PresetSource, runOf } from '../../support/rest/preset-world.ts';
import { type RestCall, startRestServer } from '../../support/rest/rest-server.ts';
import { createWorld } from '../../support/worlds/world.ts';
import { SHOPS, type ShopRow } from './shop-servers.ts';

const PAGES = filesOfPage('shops.md');
const ENV: Record<string, string> = { SHOP_USER: 'dpp', PIM_KEY: 'a-key-of-pimcore' };
const OLD = '2026-01-01T08:00:00Z';
const ROWS = Array.from({ length: 25 }, (_, at): ShopRow => ({ id: at + 1, name: `Part ${at + 1}`, changed: OLD }));

/** What a request for changes has to contain. */
const SINCE: Record<string, (call: RestCall) => boolean> = {
  shopware: ({ body }) => JSON.stringify(body).includes('"createdAt","parameters":{"gte":"'),
  magento: ({ query }) =>
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(query.get('searchCriteria[filterGroups][0][filters][0][value]') ?? ''),
  woocommerce: ({ query }) => query.get('dates_are_gmt') === 'true' && query.has('modified_after'),
  plentymarkets: ({ query }) => /T00:00:00/.test(query.get('updatedBetween') ?? ''),
  pimcore: ({ body }) => /"filter":"\{\\"modificationDate\\":\{\\"\$gte\\":\d{10}\}\}"/.test(JSON.stringify(body)),
};

/** The source of an example for a server of the test, with small pages. */
function sourceOf(name: string, base: string): PresetSource {
  const text = String(PAGES[`${name}.yaml`])
    .replaceAll(/\$\{(\w+)\}/g, (_, variable: string) => ENV[variable] ?? `a-value-of-${variable}`)
    .replaceAll(/https:\/\/\w+\.example\.com/g, base);
  const { sources } = parse(text) as { sources: [PresetSource] };
  const [source] = sources;
  source.options['limits'] = { ...(source.options['limits'] as JsonObject), perSecond: 1_000 };
  for (const { page } of Object.values(source.streams)) page['size'] = 10;
  return source;
}

it.each(Object.keys(SHOPS))(
  'products of %s are read completely, then their changes, and a deleted one is found',
  async (name) => {
    let rows: ShopRow[] = ROWS;
    const server = await startRestServer((call) => SHOPS[name]?.(call, rows) ?? { status: 404 });
    const source = sourceOf(name, server.base);
    let laterMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + laterMs };
    const world = await createWorld({ clock, config: { sources: [source] } });
    try {
      expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
      const own = () => deliveredTo(world).products.filter((one) => !one.startsWith('V-'));
      expect(own()).toHaveLength(25);
      expect(own().every((one) => / Part \d+$/.test(one))).toBe(true);
      if (name === 'woocommerce') expect(deliveredTo(world).products).toContain('V-1 Variation of 1');
      expect(server.calls.filter(({ path }) => /login|token/.test(path)).length).toBeLessThanOrEqual(1);

      const changed = new Date(Date.now() + 60_000).toISOString().replace(/\.\d+/, '');
      rows = ROWS.map((row) => (row.id === 7 ? { ...row, name: 'Part 7 new', changed } : row));
      const before = server.calls.length;
      const stream = Object.keys(source.streams)[0] ?? '';
      const second = await world.sync();
      expect(runOf(second, stream)).toMatchObject({ read: 1, changed: 1 });
      expect(server.calls.slice(before).some((call) => SINCE[name]?.(call))).toBe(true);
      expect(own().filter((one) => one.endsWith(' new'))).toHaveLength(1);

      rows = rows.filter(({ id }) => id !== 3);
      laterMs = 2 * 86_400_000;
      expect(runOf(await world.sync(), stream)).toMatchObject({ missing: 1 });
    } finally {
      await world.remove();
      await server.close();
    }
  },
);
