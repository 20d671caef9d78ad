// What a plan says where it cannot plan, or not everything.

import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runHere } from '../../../support/cli/cli-here.ts';
import { claimDue, NEVER_ANSWERED, settleOne } from '../../../support/ledger/deliveries.ts';
import { items, product, text } from '../../../support/ledger/items.ts';
import { pullAndMap, row } from '../../../support/ledger/records.ts';
import { withLedger } from '../../../support/ledger/world-ledger.ts';
import { itWithAnotherUser, nodeAsAnotherUser, OTHER_USER } from '../../../support/machine/as-another-user.ts';
import { removeFolder } from '../../../support/machine/remove-folder.ts';
import { describeSmallDisk, mountSmallDisk, type SmallDisk } from '../../../support/machine/small-disk.ts';
import { planIn, planOf } from '../../../support/plans/planned.ts';
import { REPOSITORY } from '../../../support/worlds/config-folder.ts';
import { startDaemon } from '../../../support/worlds/daemon-world.ts';
import { largeExport, SMALL, SMALL_SOURCES, smallFiles } from '../../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../../support/worlds/world.ts';

const LAUNCHER = join(REPOSITORY, 'src/launcher.mjs');
const OTHER = {
  id: 'other',
  connector: 'csv',
  options: { path: './other.csv', key: ['ID'] },
  mappings: [{ to: 'material', key: 'row.ID', fields: { code: 'row.ID', name: 'row.NAME' } }],
};

let world: World;
beforeEach(async () => {
  world = await createWorld({ config: { sources: [...SMALL_SOURCES, OTHER] }, files: smallFiles(SMALL) });
});
afterEach(() => world.remove());

const run = (...args: string[]) => runHere(['plan', ...args, '-c', world.configFile]);

describe('a plan that fails', () => {
  it('a source that cannot be read is named, the others are planned, and the exit code is 3', async () => {
    const plan = await planOf(world);
    expect(plan.exitCode).toBe(3);
    expect(plan.summary.ok).toBe(false);
    expect(plan.summary.failed).toEqual([{ source: 'other', error: expect.stringContaining('other.csv') }]);
    expect(plan.summary.counts).toEqual({ create_or_adopt: { product: 3, material: 2, bom_item: 4 } });
    expect(plan.stderr).toMatch(/^error: The run of other would fail: .*other\.csv/m);
    // A source that is not asked for is not read.
    expect((await planOf(world, 'erp')).exitCode).toBe(4);
  });

  it('a plan of an unknown source, or with a wrong config, ends with 2', async () => {
    const unknown = await run('pim');
    expect(unknown).toMatchObject({ exitCode: 2, stdout: '' });
    expect(unknown.stderr).toContain('There is no source "pim"');
    world.write('dpp-sync.yaml', readFileSync(world.configFile, 'utf8').replace('row.NAME', 'row.NAME +'));
    expect((await run()).exitCode).toBe(2);
  });

  it('a plan for another platform names the ledger of the config, not its copy', async () => {
    await world.sync();
    const text = readFileSync(world.configFile, 'utf8').replace(world.baseUrl, 'https://dpp.example.com');
    world.write('dpp-sync.yaml', text);
    const result = await run();
    expect(result.exitCode).toBe(2);
    expect(result.stderr).toContain(`The ledger ${join(world.folder, 'data/ledger.db')} belongs to ${world.baseUrl}`);
  });

  it('--out writes the lines of --json, and refuses a folder that does not exist, a folder, and a device', async () => {
    const out = join(world.folder, 'plan.jsonl');
    const written = await run('erp', '--out', out, '--limit', '1');
    expect(written.exitCode).toBe(0);
    expect(written.stdout).toContain(`Every item is in ${out}.`);
    const plan = planIn(readFileSync(out, 'utf8'));
    expect(plan.items).toEqual((await planOf(world, 'erp')).items);
    for (const wrong of [join(world.folder, 'none/plan.jsonl'), world.folder, '/dev/null']) {
      const result = await run('erp', '--out', wrong);
      expect(result).toMatchObject({ exitCode: 2, stdout: '' });
      expect(result.stderr).toContain(`${wrong} cannot be written`);
    }
  });

  it('a plan does not wait until a delivery is due that waits for hours', async () => {
    await withLedger(world, async (ledger) => {
      await pullAndMap(ledger, [row('P7'), row('P8')], ({ id }) => items(product(text(id))));
      // What became of the first one could be looked up now, which a plan does not do.
      await settleOne(ledger, { ...(await claimDue(ledger)), decision: { ...NEVER_ANSWERED, nextLookAt: 1 } });
      const reason = { code: 'throttled', message: 'Later.' } as const;
      const dueAt = Date.now() + 7_200_000;
      await settleOne(ledger, { ...(await claimDue(ledger)), decision: { kind: 'retry', dueAt, spend: true, reason } });
    });
    const { items: planned } = await planOf(world, 'erp');
    expect(planned).toContainEqual(expect.objectContaining({ action: 'create', kind: 'product', key: 'P8' }));
  });
});

itWithAnotherUser('a plan without leave to write beside the ledger says so, and what to do', async () => {
  // The ledger is in use, so that it can be read without leave to write.
  const { daemon } = await startDaemon(world);
  const data = join(world.folder, 'data');
  try {
    for (const path of ['', ...readdirSync(world.folder, { recursive: true, encoding: 'utf8' })]) {
      chownSync(join(world.folder, path), OTHER_USER, OTHER_USER);
    }
    chmodSync(data, 0o555);
    const { status, stderr } = nodeAsAnotherUser([LAUNCHER, 'plan', 'erp', '-c', world.configFile]);
    expect(stderr).toContain(`The ledger cannot be copied: ${data} cannot be written: permission denied (EACCES).`);
    expect(status).toBe(3);
  } finally {
    chmodSync(data, 0o755);
    await daemon.stop();
  }
});

describeSmallDisk('a plan on a small disk', () => {
  let folder: string;
  let disk: SmallDisk;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dpp-plan-disk-'));
    disk = mountSmallDisk(folder, 8);
    world.write(
      'dpp-sync.yaml',
      readFileSync(world.configFile, 'utf8').replace('./data/ledger.db', join(folder, 'ledger.db')),
    );
    await world.sync();
  });
  afterEach(async () => {
    disk.remove();
    await removeFolder(folder);
  });

  it('a plan without room for the copy says how much room it needs', async () => {
    disk.fillTo(100_000);
    const result = await run('erp');
    expect(result).toMatchObject({ exitCode: 3, stdout: '' });
    expect(result.stderr).toMatch(/The disk of the ledger has 1 MB left, and a copy of the ledger needs \d+ MB\./);
  });

  it('a plan whose copy fills the disk ends with an error, and leaves room', async () => {
    world.writeAll(smallFiles(largeExport(20_000)));
    const result = await run('erp', '--json');
    expect(result.exitCode).toBe(3);
    expect(result.stdout).toContain('ledger.unwritable');
    expect(result.stdout).not.toContain('"type":"summary"');
    expect(existsSync(join(folder, 'ledger.db'))).toBe(true);
    expect((await planOf(world, 'other')).summary.failed).toHaveLength(1);
  });
});
