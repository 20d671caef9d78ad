// A plan changes nothing: not the ledger, not the files of a source, and it asks the platform nothing.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startCli } from '../../../support/cli/cli.ts';
import { runHere } from '../../../support/cli/cli-here.ts';
import { createFrozenLedger, versionOf } from '../../../support/ledger/frozen-ledger.ts';
import { planOf } from '../../../support/plans/planned.ts';
import { startDaemon } from '../../../support/worlds/daemon-world.ts';
import { changed, SMALL, SMALL_SOURCES, smallFiles } from '../../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../../support/worlds/world.ts';

/** A stream of changes, whose files are moved after they were read. */
const CHANGES = {
  id: 'changes',
  connector: 'csv',
  options: { path: './in/*.csv', key: ['ID'], contents: 'changes', after: 'archive', archive: './read' },
  mappings: [{ to: 'material', key: 'row.ID', fields: { code: 'row.ID', name: 'row.NAME' } }],
};

let world: World;
beforeEach(async () => {
  world = await createWorld({
    config: { sources: [...SMALL_SOURCES, CHANGES] },
    files: { ...smallFiles(SMALL), 'in/1.csv': 'ID,NAME\nC1,Zinc\n' },
    // No variable of the key is set where the plan runs.
    target: { apiKey: '$' + '{DPP_API_KEY}' },
  });
});
afterEach(() => world.remove());

/** The digests of all files of the world. To read a ledger, SQLite makes two files beside it, which are left out. */
function filesOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries
      .filter((entry) => entry.isFile() && !/-(wal|shm)$/.test(entry.name))
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((file) => [file, createHash('sha256').update(readFileSync(file)).digest('hex')]),
  );
}

/** The folders that plans have left. */
function leftFolders(): string[] {
  const data = join(world.folder, 'data');
  const beside = existsSync(data) ? readdirSync(data) : [];
  return [...beside, ...readdirSync(tmpdir())].filter(
    (name) => name.startsWith('dpp-sync-plan-') && name.includes(`-${process.pid}-`),
  );
}

const MOTOR = changed('products', 'P3', { name: 'Engine' });

async function syncThenChange(): Promise<void> {
  await world.sync();
  world.writeAll(smallFiles(MOTOR));
  world.write('in/2.csv', 'ID,NAME\nC1,Tin\n');
  world.requests();
}

const CHANGED = [
  expect.objectContaining({ action: 'update', key: 'C1', fields: { name: { old: 'Zinc', new: 'Tin' } } }),
  expect.objectContaining({ action: 'update', key: 'P3', fields: { name: { old: 'Motor', new: 'Engine' } } }),
];

describe('a plan', () => {
  it('a plan needs no key, changes no file, moves no cursor, archives nothing and asks the platform nothing', async () => {
    await syncThenChange();
    const before = filesOf(world.folder);
    const plan = await planOf(world);
    expect(plan.exitCode).toBe(4);
    expect(plan.items).toEqual(CHANGED);
    expect(filesOf(world.folder)).toEqual(before);
    expect(world.requests()).toEqual({});
    expect(leftFolders()).toEqual([]);
    // What the plan has read is still new for the sync.
    await world.sync();
    expect(world.contents().materials).toContainEqual(expect.objectContaining({ code: 'C1', name: 'Tin' }));
    expect(existsSync(join(world.folder, 'read/2.csv'))).toBe(true);
  });

  it('a plan without a ledger makes none', async () => {
    const before = filesOf(world.folder);
    const plan = await planOf(world);
    expect(plan.summary.counts).toEqual({ create_or_adopt: { product: 3, material: 3, bom_item: 4 } });
    expect(filesOf(world.folder)).toEqual(before);
    expect(existsSync(join(world.folder, 'data'))).toBe(false);
    expect(leftFolders()).toEqual([]);
  });

  it('a plan beside a daemon reads the ledger that the daemon holds', async () => {
    await syncThenChange();
    world.write(
      'dpp-sync.yaml',
      readFileSync(world.configFile, 'utf8').replace('${DPP_API_KEY}', 'dpp_test0123456789abcdefghij'),
    );
    const { daemon } = await startDaemon(world);
    try {
      world.requests();
      const plan = await planOf(world);
      expect(plan.items).toEqual(CHANGED);
      expect(world.requests()).toEqual({});
      expect(leftFolders()).toEqual([]);
    } finally {
      await daemon.stop();
    }
  });

  it('a plan beside a sync shows what is being sent as unconfirmed, and the sync goes on', async () => {
    await syncThenChange();
    world.sandbox.faults.add({ operation: 'material.update', kind: 'latency', ms: 3_600_000 });
    const running = world.sync();
    await expect.poll(() => world.sandbox.inspect().faults[0]?.used).toBe(1);
    const { items } = await planOf(world);
    expect(items).toContainEqual(expect.objectContaining({ action: 'blocked', key: 'C1', state: 'in_doubt' }));
    world.endLatency();
    expect((await running).items).toEqual({
      product: { delivered: 3 },
      material: { delivered: 3 },
      bom_item: { delivered: 4 },
    });
  });

  it('a plan reads a backup', async () => {
    await syncThenChange();
    const backup = join(world.folder, 'backup.db');
    expect((await runHere(['ledger', 'backup', backup, '-c', world.configFile])).exitCode).toBe(0);
    world.write('backup.yaml', readFileSync(world.configFile, 'utf8').replace('./data/ledger.db', './backup.db'));
    const before = filesOf(world.folder);
    const plan = await planOf({ configFile: join(world.folder, 'backup.yaml') });
    expect(plan.items).toEqual(CHANGED);
    expect(filesOf(world.folder)).toEqual(before);
  });

  it('a plan upgrades a ledger of an older version only in its copy', async () => {
    mkdirSync(join(world.folder, 'data'));
    const file = join(world.folder, 'data/ledger.db');
    createFrozenLedger(file, { target: world.baseUrl });
    const version = versionOf(file);
    const before = filesOf(world.folder);
    const plan = await planOf(world);
    expect(plan.summary.runs).toHaveLength(4);
    expect(filesOf(world.folder)).toEqual(before);
    expect(versionOf(file)).toBe(version);
    expect(leftFolders()).toEqual([]);
  });

  it('a plan refuses a ledger that is gone while its mark shows that there was one', async () => {
    await world.sync();
    rmSync(join(world.folder, 'data/ledger.db'));
    const result = await runHere(['plan', '-c', world.configFile]);
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toContain('is gone or empty, but the mark beside it shows that there was a ledger');
  });
});

/** A connector that gives one row, reports that, and then waits for the end of the read. */
const SLOW = `import { writeFileSync } from 'node:fs';
import { defineConnector, z } from 'dpp-sync/sdk';
export default defineConnector({
  id: 'slow',
  title: 'Waits',
  reads: 'snapshot',
  options: z.strictObject({ mark: z.string().describe('The file that shows that the read has begun.') }),
  streamOptions: z.strictObject({}),
  async open({ mark }) {
    return {
      async check() { return { found: 'one row', columns: ['id'] }; },
      async *pull({ signal }) {
        yield { rows: [{ fields: { id: '1' }, place: { path: '1' } }] };
        writeFileSync(mark, '');
        await new Promise((resolve) => {
          const timer = setInterval(() => undefined, 1000);
          signal.addEventListener('abort', () => (clearInterval(timer), resolve()));
        });
      },
      async close() {},
    };
  },
});
`;

describe('a plan that is stopped', () => {
  /** Begins a plan that waits in the middle of a read. */
  async function beginSlowPlan() {
    await world.sync();
    world.write('slow.ts', SLOW);
    const mark = join(world.folder, 'begun');
    const source = {
      id: 'slow',
      connector: './slow.ts',
      options: { mark },
      mappings: [{ to: 'product', key: 'row.id', fields: { sku: 'row.id', name: 'row.id' } }],
    };
    world.write(
      'slow.yaml',
      JSON.stringify({
        target: { baseUrl: world.baseUrl, apiKey: '$' + '{DPP_API_KEY}' },
        ledger: './data/ledger.db',
        sources: [source],
      }),
    );
    const out = join(world.folder, 'plan.jsonl');
    const process = startCli(['plan', '--json', '--out', out, '-c', join(world.folder, 'slow.yaml')]);
    await expect.poll(() => existsSync(mark)).toBe(true);
    return process;
  }
  const leftIn = (folder: string): string[] =>
    readdirSync(folder).filter((name) => /^dpp-sync-(?:plan|out)-/.test(name) || name === 'plan.jsonl');

  it('a plan that Ctrl-C stops is no plan, and leaves nothing', async () => {
    const running = await beginSlowPlan();
    expect(leftIn(join(world.folder, 'data'))).toHaveLength(1);
    running.signal('SIGINT');
    const { exitCode, stdout } = await running.ended;
    expect(exitCode).toBe(1);
    expect(stdout).toContain('The plan was stopped before it was done.');
    expect(stdout).not.toContain('"type":"summary"');
    expect([...leftIn(join(world.folder, 'data')), ...leftIn(world.folder)]).toEqual([]);
  });

  it('a plan removes what a plan that was killed has left, and nothing of one that runs', async () => {
    const left = () => [...leftIn(join(world.folder, 'data')), ...leftIn(world.folder)];
    const killed = await beginSlowPlan();
    killed.signal('SIGKILL');
    await killed.ended;
    expect(left()).toHaveLength(2);
    const other = join(world.folder, 'other.jsonl');
    expect((await planOf(world, '--out', other)).exitCode).toBe(0);
    expect(left()).toEqual([]);
    rmSync(join(world.folder, 'begun'));
    const running = await beginSlowPlan();
    expect((await planOf(world, '--out', other)).exitCode).toBe(0);
    expect(left()).toHaveLength(2);
    running.signal('SIGINT');
    expect((await running.ended).exitCode).toBe(1);
  });
});
