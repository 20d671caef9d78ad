import { afterEach, describe, expect, it, vi } from 'vitest';
import { cli, startCli } from '../../support/cli/cli.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { EXPORT_SOURCES, FLAWED_FILES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { API_KEY, createWorld, type World, type WorldOptions } from '../../support/worlds/world.ts';

let world: World;

afterEach(() => world.remove());

async function begin(options: Partial<WorldOptions> = {}): Promise<World> {
  world = await createWorld({ config: { sources: EXPORT_SOURCES }, files: GOOD_FILES, ...options });
  return world;
}

const sync = (...args: string[]) => cli(['sync', '-c', world.configFile, ...args]);

describe('dpp-sync sync', () => {
  it('sync ends with 0 and the document of the contract when all is delivered, and then sends nothing more', async () => {
    await begin();
    const first = await sync('--json');
    expect(first.exitCode).toBe(0);
    const document = first.json();
    const members = [
      'ok',
      'runs',
      'items',
      'passports',
      'requests',
      'durationMs',
      'warnings',
      'guarded',
      'held',
      'missing',
    ];
    const ofContact = ['adopted', 'unansweredParts', 'unproven'];
    const ofMissing = ['missingOutcomes', 'paddedKeys'];
    expect(Object.keys(document)).toEqual([...members, ...ofMissing, 'suspended', 'refused', 'causes', ...ofContact]);
    expect(document).toMatchObject({
      ok: true,
      items: { product: { delivered: 2 }, material: { delivered: 1 }, bom_item: { delivered: 2 } },
      passports: { none: 2 },
      // Five items, and the lists of products and materials.
      requests: { sent: 7, throttled: 0, retried: 0 },
    });
    const runs = document['runs'] as Record<string, unknown>[];
    expect(runs).toHaveLength(3);
    const counts = ['read', 'unchanged', 'changed', 'quarantined', 'excluded', 'missing'];
    for (const run of runs) expect(Object.keys(run)).toEqual(['source', 'stream', ...counts]);
    expect(world.contents().products).toHaveLength(2);

    const second = await sync('--json');
    expect(second.exitCode).toBe(0);
    expect(second.json()).toMatchObject({ ok: true, requests: { sent: 0 } });
    expect(await sync('--quiet')).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
  });

  it('sync ends with 4 and reports which items wait and which rows are quarantined', async () => {
    await begin({ files: FLAWED_FILES });
    const { exitCode, stdout } = await sync();
    expect(exitCode).toBe(4);
    expect(stdout).toContain('1 item waits');
    expect(stdout).toContain('for product 2');
    expect(stdout).toContain('2 rows have an error and were not sent');
    expect(stdout).toContain(' quarantine');
    const quiet = await sync('--quiet');
    expect(quiet.exitCode).toBe(4);
    expect(quiet.stdout).not.toContain('requests');
    expect(quiet.stdout).toContain('2 rows have an error and were not sent');
  });

  it('sync ends with 3 when the API refuses the key, which is shown nowhere', async () => {
    await begin();
    const [key] = world.sandbox.inspect().keys;
    world.sandbox.revokeKey(key?.id ?? 0);
    const { exitCode, json, stdout, stderr } = await sync('--json', '--log-level', 'trace');
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({ ok: false, error: { code: 'api.key', path: 'target.apiKey' } });
    expect(stdout + stderr).not.toContain(API_KEY);
    expect(stderr).toContain('error: ');
  });

  it('sync ends with 3 when the API cannot be reached within --wait, and all stays due', async () => {
    await begin();
    await world.sandbox.close();
    const { exitCode, json } = await sync('--json', '--wait', '1');
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({
      ok: false,
      items: { product: { due: 2 }, material: { due: 1 } },
      error: { code: 'api.unreachable', path: 'target.baseUrl' },
    });
  });

  it('sync ends with 3 when a source cannot be read', async () => {
    await begin({
      files: { 'products.csv': GOOD_FILES['products.csv'], 'materials.csv': GOOD_FILES['materials.csv'] },
    });
    const { exitCode, stderr } = await sync();
    expect(exitCode).toBe(3);
    expect(stderr).toContain('boms.csv');
    expect(stderr).toContain('does not exist');
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('sync ends with 2 for a source that does not exist, and suggests the one that was meant', async () => {
    await begin();
    const { exitCode, stderr, stdout } = await sync('epr');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Did you mean erp?');
    expect(stdout).toBe('');
  });

  it('sync ends with 3 and names the holder while another process works on the ledger', async () => {
    await begin();
    await using _holder = await world.open();
    const { exitCode, json } = await sync('--json');
    expect(exitCode).toBe(3);
    const { error } = json() as { error: { code: string; message: string } };
    expect(error.code).toBe('ledger.held');
    expect(error.message).toContain(`process ${process.pid}`);
    expect((await cli(['status', '-c', world.configFile])).exitCode).toBe(0);
  });

  it('sync finishes what is in flight at the first SIGINT, ends with 1, and doubles nothing when it is run again', async () => {
    const rows = Array.from({ length: 200 }, (_, index) => `${index + 1},A-${index + 1},Pump ${index + 1},DE\n`);
    const files = { ...GOOD_FILES, 'products.csv': `ID,SKU,NAME,COUNTRY\n${rows.join('')}` };
    await begin({ files, profile: { imports: { creates: 'off' } } });
    world.sandbox.faults.add({ kind: 'latency', operation: 'product.create', ms: 300 });
    const child = startCli(['sync', '-c', world.configFile, '--json']);
    await vi.waitFor(() => expect(world.sandbox.faults.list()[0]?.used).toBeGreaterThan(0), { timeout: WAIT_MS });
    child.signal('SIGINT');
    const { exitCode, json, stderr } = await child.ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Stopping');
    expect(json()).toMatchObject({ ok: false, error: { code: 'interrupted', path: null } });
    const { product } = json()['items'] as { product: Record<string, number> };
    expect(product['delivered']).toBe(world.contents().products.length);
    expect(product['delivered']).toBeGreaterThan(0);
    expect(product['due']).toBeGreaterThan(0);
    expect(product['in_doubt']).toBeUndefined();
    const counts = Object.entries(world.requests());
    const sum = (of: typeof counts) => of.reduce((total, [, count]) => total + count, 0);
    const { sent } = json()['requests'] as { sent: number };
    expect(sent).toBeLessThanOrEqual(sum(counts));
    // A read of a list that the signal has cut off is not counted.
    expect(sent).toBeGreaterThanOrEqual(sum(counts.filter(([operation]) => !operation.endsWith('.list'))));

    world.sandbox.faults.clear();
    expect((await sync()).exitCode).toBe(0);
    expect(world.sandbox.inspect().writes.filter(({ count }) => count > 1)).toEqual([]);
    expect(world.contents().products).toHaveLength(200);
  });

  it('sync reports bad usage as a document too', async () => {
    await begin();
    for (const args of [['sync', '--wait', 'soon'], ['snyc'], ['sync', '--colour'], ['--log-level', 'loud', 'sync']]) {
      const { exitCode, json } = await cli([...args, '--json']);
      expect(exitCode).toBe(2);
      expect(Object.keys(json())).toEqual(['ok', 'error']);
      expect(json()).toMatchObject({ ok: false, error: { code: 'usage', path: null } });
    }
  });

  it('sync takes global flags before and after the command', async () => {
    await begin();
    const before = await cli(['--json', '-c', world.configFile, 'status']);
    const after = await cli(['status', '-c', world.configFile, '--json']);
    expect(before.exitCode).toBe(0);
    expect(Object.keys(before.json())).toEqual(Object.keys(after.json()));
  });
});
