// A plan of a source that gives changes with tombstones, and that can forget its position.

import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../../support/cli/cli-here.ts';
import { CHANGE_LOG_CONNECTOR, createChangeLog } from '../../../support/connectors/change-log.ts';
import { namesIn, plannedEffects, watchPlatform } from '../../../support/plans/effects.ts';
import { type Planned, planOf } from '../../../support/plans/planned.ts';
import { createWorld, type World } from '../../../support/worlds/world.ts';

const OFF = { enabled: false };
const IDS = ['P1', 'P2', 'P3', 'P4', 'P5', 'P6'];
const row = (ID: string, NAME = 'Fan') => ({ ID, NAME });

const FIELDS = { sku: 'row.ID', name: 'row.NAME', country_of_origin: '"DE"' };
const SOURCE = {
  id: 'erp',
  connector: './log.mjs',
  streams: { items: { key: ['ID'] } },
  mappings: [{ stream: 'items', to: 'product', key: 'row.ID', fields: FIELDS }],
  onMissing: 'unpublish',
  guard: { maxMissing: '50%' },
};

let world: World;
let log: ReturnType<typeof createChangeLog>;

beforeEach(async () => {
  world = await createWorld({
    config: { sources: [SOURCE], passports: { init: 'when-complete', publish: 'auto' } },
    files: { 'log.mjs': CHANGE_LOG_CONNECTOR },
    sandbox: { gates: { productComplete: OFF, bomPresent: OFF, materialData: OFF } },
  });
  log = createChangeLog((content) => world.write('log.json', content));
  log.become(IDS.map((id) => row(id)));
  expect((await world.sync()).fault).toBeNull();
});
afterEach(() => world.remove());

/** Plans, syncs, and compares the plan with what the sandbox shows. Then nothing may be left to do. */
async function compare(...apply: string[]): Promise<Planned> {
  const effects = watchPlatform(world);
  const plan = await planOf(world, '--out', `${world.folder}/plan.jsonl`);
  const sync = await runHere(['sync', ...apply, '-c', world.configFile]);
  expect(sync.stderr + sync.stdout).not.toContain('does not fit');
  expect(plannedEffects(plan.items, namesIn(world))).toEqual(effects());
  expect(plannedEffects((await planOf(world)).items, namesIn(world))).toEqual([]);
  return plan;
}
const counts = ({ summary }: Planned) => {
  const { read, changed, missing } = summary.runs[0] ?? {};
  return { read, changed, missing };
};

describe.each([
  ['a sync without it', []],
  ['a sync that applies it', ['--plan', 'plan.jsonl']],
])('a plan, and %s', (_, [option = '', file = '']) => {
  const applied = () => (option === '' ? [] : [option, `${world.folder}/${file}`]);

  it('are the same for records that tombstones take away and rows bring back', async () => {
    log.become([row('P1'), row('P2', 'Pump'), row('P4'), row('P5'), row('P6'), row('P7')]);
    const first = await compare(...applied());
    expect(first.summary.counts).toEqual({
      create: { product: 1 },
      update: { product: 1 },
      prepare: { passport: 1 },
      publish: { passport: 1 },
      unpublish: { passport: 1 },
      differs: { passport: 1 },
    });
    expect(counts(first)).toEqual({ read: 2, changed: 2, missing: 1 });
    log.become([row('P1'), row('P2', 'Pump'), row('P3'), row('P4'), row('P5'), row('P6')]);
    const second = await compare(...applied());
    expect(second.summary.counts).toEqual({ publish: { passport: 1 }, unpublish: { passport: 1 } });
  });

  it('are the same where the position is lost, and all is read', async () => {
    log.become([row('P1', 'Pump'), ...IDS.slice(2).map((id) => row(id))]);
    log.forget();
    const plan = await compare(...applied());
    expect(counts(plan)).toEqual({ read: 5, changed: 1, missing: 1 });
    expect(plan.summary.runs[0]?.warnings).toEqual(['The log has forgotten the position 6.']);
  });

  it('are the same where the guard allows only a part, and all is read and held', async () => {
    log.become([row('P6')]);
    const plan = await compare(...applied());
    // The first page has two tombstones. The second one would take away four of six products.
    expect(counts(plan)).toEqual({ read: 1, changed: 0, missing: 5 });
    expect(plan.summary.counts).toEqual({ unpublish: { passport: 2 } });
    expect(plan.summary.guarded).toMatchObject([{ source: 'erp', stream: 'items', missing: 3 }]);
  });
});

it('a run with tombstones that exceeds its bounds stores nothing, and does what was approved', async () => {
  const config = parse(readFileSync(world.configFile, 'utf8')) as object;
  const bounded = { ...config, sources: [{ ...SOURCE, approve: { unpublish: 0 } }] };
  writeFileSync(world.configFile, stringify(bounded));
  log.become(IDS.slice(1).map((id) => row(id)));
  const missing = async () => (await runHere(['items', '--state', 'missing', '--json', '-c', world.configFile])).stdout;
  expect((await runHere(['sync', '-c', world.configFile])).exitCode).toBe(4);
  expect(await missing()).toBe('');
  expect((await runHere(['sync', '--accept', 'erp', '-c', world.configFile])).exitCode).toBe(0);
  expect((await planOf(world)).items).toEqual([]);
});
