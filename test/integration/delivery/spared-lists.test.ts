import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { SMALL_SOURCES, type SmallExport, smallFiles } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const WEEK_MS = 7 * 86_400_000;
const WEEKS = 3;
const MATERIALS = 1500;
/** Every 20th row is new, so that each page of the export has few new rows and their creates begin at once. */
const NEW_AT = 20;

let world: World;
afterEach(() => world.remove());

/** The export of a week: the new rows of each week stand among the old ones. */
function exportOf(week: number): SmallExport {
  const ids = Array.from({ length: MATERIALS }, (_, id) => id);
  const isThere = (id: number): boolean => id % NEW_AT > 0 || (id / NEW_AT) % WEEKS < week;
  return {
    products: [],
    materials: ids.filter(isThere).map((id) => ({ id: `M${id}`, name: `Material ${id}` })),
    lines: [],
  };
}

describe('the list of a kind in a later run', () => {
  it('one request for the count spares the list where only our own creates came since', async () => {
    let laterMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + laterMs };
    world = await createWorld({ config: { sources: SMALL_SOURCES }, files: smallFiles(exportOf(0)), clock });
    expect((await world.sync()).fault).toBeNull();
    world.requests();
    for (let week = 1; week <= WEEKS; week += 1) {
      laterMs += WEEK_MS;
      world.writeAll(smallFiles(exportOf(week)));
      expect((await world.sync()).fault).toBeNull();
      expect(world.requests()).toEqual({ 'material.list': 1, 'material.create': MATERIALS / NEW_AT / WEEKS });
    }
    expect(world.contents().materials).toHaveLength(MATERIALS);
  });
});
