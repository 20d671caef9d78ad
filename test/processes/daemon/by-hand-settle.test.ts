import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/run.ts';
import { exitCodeOf } from '../../../src/observe/standing.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { type CliResult, cli, startCli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { type DaemonProcess, startDaemonProcess } from '../../support/cli/daemon-process.ts';
import { covers } from '../../support/docs/reliability.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import {
  createAtPlatform,
  createSettleWorld,
  MATERIAL_M1,
  PRODUCT_P1,
  stageLostAnswers,
  syncThenBlock,
} from '../../support/worlds/settle-world.ts';
import { API_KEY, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;
let daemon: DaemonProcess;

afterEach(async () => {
  daemon.signal('SIGKILL');
  await daemon.exited;
  await world.remove();
});

const run = (...args: string[]): Promise<CliResult> => runHere([...args, '-c', world.configFile]);

async function openWorld(sandbox?: SandboxOptions): Promise<void> {
  world = await createSettleWorld(queue(), sandbox);
}

/** Delivers everything, and then starts the daemon. */
async function startSynced(sandbox?: SandboxOptions): Promise<void> {
  await openWorld(sandbox);
  expect(exitCodeOf(await world.sync())).toBe(0);
  daemon = await startDaemonProcess(world.configFile);
}

/** Starts the daemon with the BOM items 3 and 4 blocked, because their quantities have changed. */
async function startBlocked(): Promise<void> {
  await openWorld();
  await syncThenBlock(world);
  daemon = await startDaemonProcess(world.configFile);
}

/**
 * Starts the daemon with a BOM item that waits for a product and a material. The platform has both, but the answers to
 * their creates were lost.
 */
async function startUnconfirmed(): Promise<{ productId: unknown }> {
  await openWorld();
  await stageLostAnswers(world, ['P1', 'M1', 'B1']);
  const productId = await createAtPlatform(world, 'products', PRODUCT_P1);
  await createAtPlatform(world, 'materials', MATERIAL_M1);
  daemon = await startDaemonProcess(world.configFile);
  return { productId };
}

describe('settle beside a daemon', () => {
  it('settle beside a daemon has the daemon read the id back', covers('answer-lost', 'I4', 'I6'), async () => {
    const { productId } = await startUnconfirmed();
    const settled = await run('settle', 'P1', '--delivered', '--json');
    expect({ exitCode: settled.exitCode, document: settled.json() }).toEqual({
      exitCode: 0,
      document: {
        ok: true,
        kind: 'product',
        key: 'P1',
        operation: 'product.create',
        state: 'delivered',
        remoteId: productId,
        released: 0,
      },
    });
    const last = await run('settle', 'M1', '--delivered');
    expect(last.stdout).toBe(
      'Noted. The material M1 is delivered now.\n1 write that waited for this is due now, and the daemon sends it.\n',
    );
    await expect.poll(() => world.contents().bomItems.length).toBe(1);
    await expect.poll(() => daemon.stderr()).toContain('A person has started the command settle.');
  });

  it('settle beside a daemon ends with 2 for a delivery that cannot be settled, as without a daemon', async () => {
    await startUnconfirmed();
    const unknown = await run('settle', 'P1', 'P', '--rejected', '--json');
    expect({ exitCode: unknown.exitCode, document: unknown.json() }).toEqual({
      exitCode: 2,
      document: {
        ok: false,
        error: { code: 'item.unknown', path: null, message: expect.stringMatching(/Did you mean P1/) },
      },
    });
    const id = await run('settle', 'P1', '--delivered', '--id', API_KEY, '--json');
    expect(id.json()).toMatchObject({
      error: { code: 'usage', message: expect.stringMatching(/^--id .* cannot be an id/) },
    });
    expect((await run('show', 'product', 'P1')).stdout).toMatch(/state +sent, no answer yet/);
  });

  it('settle beside a daemon settles all in a state once somebody has confirmed how many', async () => {
    await startBlocked();
    const selection = ['settle', '--state', 'blocked', '--ignore', '--json'];
    const unasked = await run(...selection);
    expect({ exitCode: unasked.exitCode, document: unasked.json() }).toMatchObject({
      exitCode: 2,
      document: {
        error: { code: 'usage', message: expect.stringMatching(/can confirm 2 items.*--yes/) },
      },
    });
    const { exitCode, json } = await run(...selection, '--yes');
    expect({ exitCode, document: json() }).toEqual({
      exitCode: 0,
      document: { ok: true, settled: 2, left: 0, released: 0 },
    });
  });

  /** Starts the daemon with two BOM items blocked, because the platform had their product before. */
  async function startAdopted(): Promise<void> {
    await openWorld();
    await createAtPlatform(world, 'products', { ...PRODUCT_P1, name: 'Fan' });
    expect((await world.sync()).items.bom_item).toEqual({ delivered: 2, blocked: 2 });
    daemon = await startDaemonProcess(world.configFile);
  }

  it('settle beside a daemon has it create the BOM items of a product that the platform had before', async () => {
    await startAdopted();
    const { exitCode, stdout } = await run('settle', '--bom', 'absent', '--all');
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: '2 BOM items of 1 product settled.\nThe daemon creates them.\n',
    });
    await expect.poll(() => world.contents().bomItems.length).toBe(4);
  });

  it('settle beside a daemon has it continue with the passport that waited for the BOM items', async () => {
    await startAdopted();
    expect(world.contents().passports).toHaveLength(2);
    const { exitCode, json } = await run('settle', '--bom', 'present', 'SKU-P1', '--json');
    expect({ exitCode, document: json() }).toEqual({
      exitCode: 0,
      document: { ok: true, products: 1, bomItems: 2, unknown: [] },
    });
    await expect.poll(() => world.contents().passports.length).toBe(3);
  });
});

describe('what people ask of the platform beside a daemon', () => {
  it('a command beside a daemon saves a passport in a file of the command, or writes it to stdout', async () => {
    await startSynced();
    const file = join(world.folder, 'fan.pdf');
    const { exitCode, json } = await run('pdf', 'SKU-P1', '--out', file, '--json');
    const [fan] = world.contents().products.filter(({ sku }) => sku === 'SKU-P1');
    expect({ exitCode, document: json() }).toEqual({
      exitCode: 0,
      document: { ok: true, sku: 'SKU-P1', productId: fan?.['id'], file, bytes: statSync(file).size },
    });
    const written = readFileSync(file);
    expect(written.subarray(0, 5).toString()).toBe('%PDF-');
    expect(written.toString('latin1').trimEnd()).toMatch(/%%EOF$/);
    const piped = await run('pdf', 'SKU-P1', '--out', '-');
    expect(piped).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringMatching(/^%PDF-/) });
    await expect.poll(() => daemon.stderr()).toContain('A person has started the command passport-pdf.');

    world.sandbox.faults.add({ operation: 'passport.pdf', kind: 'status', status: 404 });
    const refused = await run('pdf', 'SKU-P1', '--out', file, '--json');
    expect({ exitCode: refused.exitCode, document: refused.json() }).toMatchObject({
      exitCode: 1,
      document: { error: { code: 'api.refused' } },
    });
    expect(readFileSync(file)).toEqual(written);
  });

  it('a command beside a daemon lists publications and reports to their end, and has a report made', async () => {
    await startSynced();
    const made = await run('report', 'create', '--type', 'completeness', '--idempotency-key', 'mine', '--json');
    expect(made.json()).toEqual({ ok: true, id: 1, idempotencyKey: 'mine' });
    const reports = await run('report', 'list', '--json');
    expect(reports.json()).toMatchObject({ ok: true, reports: [{ id: 1, type: 'completeness' }] });
    expect((await run('report', 'list')).stdout).toMatch(/1 +completeness +completed/);
    expect(await run('publications')).toMatchObject({ exitCode: 0, stderr: 'Nothing has been published.\n' });
    for (const name of ['report-create', 'list-reports', 'list-publications']) {
      await expect.poll(() => daemon.stderr()).toContain(`A person has started the command ${name}.`);
    }
  });

  it('a command beside a daemon ends without an error where nobody takes the rest of a list', async () => {
    const count = 8;
    await startSynced({ pageSize: 1, pageSizeMax: 1 });
    for (let number = 0; number < count; number += 1) await run('report', 'create');
    world.sandbox.faults.add({ operation: 'report.list', kind: 'latency', ms: 300 });
    const closed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(closed) });
    expect(await runCli(['report', 'list', '-c', world.configFile], { stdout, stderr: new PassThrough() })).toBe(0);
    await expect.poll(() => daemon.stderr()).toContain('The command that waited for this answer has ended.');
    // The daemon may read some pages until it learns that the command has ended.
    expect(world.sandbox.inspect().faults[0]?.used).toBeLessThan(count);
    expect(daemon.stderr()).not.toContain('of a person failed');
  });

  it('a command that gets a 429 makes the daemon wait as well', covers('throttled', 'I5'), async () => {
    await startSynced();
    world.sandbox.faults.add({ operation: 'report.create', kind: 'status', status: 429, retryAfterSeconds: 120 });
    const { exitCode, stderr } = await run('report', 'create');
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('in 120 s') });
    await expect.poll(async () => (await run('status')).stdout).toMatch(/429/);
  });

  it('a command reports that nobody knows whether a report was made where the daemon is killed amid it', async () => {
    await startSynced();
    world.sandbox.faults.add({ operation: 'report.create', kind: 'latency', ms: 60_000 });
    const asking = cli(['report', 'create', '--idempotency-key', 'mine', '--json', '-c', world.configFile]);
    await expect.poll(() => world.sandbox.inspect().faults[0]?.used).toBe(1);
    daemon.signal('SIGKILL');
    const lost = await asking;
    expect({ exitCode: lost.exitCode, document: lost.json() }).toMatchObject({
      exitCode: 3,
      document: { ok: false, id: null, idempotencyKey: 'mine', error: { code: 'daemon.lost', path: null } },
    });
    expect(lost.stderr).toMatch(/It is unknown whether the request took effect/);
    expect(lost.stderr).toMatch(/ report list.*--idempotency-key mine/);
  });

  it('a daemon continues with a report that nobody watches any more', async () => {
    await startSynced();
    world.sandbox.faults.add({ operation: 'report.create', kind: 'latency', ms: 60_000 });
    const asking = startCli(['report', 'create', '--idempotency-key', 'mine', '-c', world.configFile]);
    await expect.poll(() => world.sandbox.inspect().faults[0]?.used).toBe(1);
    asking.signal('SIGINT');
    const left = await asking.ended;
    expect({ exitCode: left.exitCode, stderr: left.stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/It is unknown.*--idempotency-key mine/s),
    });
    world.endLatency();
    await expect.poll(() => world.contents().reports.length).toBe(1);
  });
});
