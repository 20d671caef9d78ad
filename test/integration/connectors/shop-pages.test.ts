// The examples of docs/connectors/shops.md as whole configs. test/conformance/shop-kit.test.ts checks how they read.

import { describe, expect, it } from 'vitest';
import { startApiServer } from '../../../src/sdk/testing/rest-server.ts';
import { deliveredTo } from '../../support/rest/preset-world.ts';
import { EXAMPLES, SHOPS, type Shop, sourceOfExample } from '../../support/rest/shops.ts';
import { createWorld } from '../../support/worlds/world.ts';

const SIZE = 10;
/** The last page is full. */
const COUNT = 2 * SIZE;

// Most of the time they wait until the items are sent.
describe('the examples for shops', { concurrent: true }, () => {
  it.each(EXAMPLES)(
    '%s: products are delivered with their names, and no page behind the last one is asked for',
    async (example) => {
      const { api, row } = SHOPS[example] as Shop;
      let beyond = 0;
      const rows = Array.from({ length: COUNT }, (_, at) => row(at + 1));
      const server = await startApiServer({ api, rows, document: null, answer: api.answer ?? (() => undefined) });
      server.behave({
        reply(_, __, context) {
          if (context.rows === 0) beyond += 1;
          return null;
        },
      });
      const world = await createWorld({
        config: { sources: [sourceOfExample(example, { base: server.base, size: SIZE })] },
      });
      try {
        expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
        server.assertSound();
        const { products } = deliveredTo(world);
        const own = products.filter((one) => /^(?:S-)?(\d+) Part \1$/.test(one));
        const variations = products.filter((one) => /^V-(\d+) Variation of \1$/.test(one));
        expect([own.length, variations.length]).toEqual([COUNT, example === 'woocommerce' ? 18 : 0]);
        expect(products).toHaveLength(own.length + variations.length);
        expect(beyond).toBe(0);
      } finally {
        await world.remove();
        await server.close();
      }
    },
  );
});
