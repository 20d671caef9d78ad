import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { covers } from '../../support/docs/reliability.ts';
import { text } from '../../support/ledger/items.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { SMALL, SMALL_SOURCES, smallFiles } from '../../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

const queue = quickQueue();
let world: World;

beforeAll(async () => {
  // The gate of P3 stays shut, and line 3, of the product P2, has no usable quantity.
  const lines = SMALL.lines.map((line) => (line.id === '3' ? { ...line, quantity: 'much' } : line));
  world = await createWorld({
    queue: queue(),
    config: { sources: SMALL_SOURCES },
    files: smallFiles({ ...SMALL, lines }),
    sandbox: { gates: { materialData: { enabled: false }, review: { enabled: true, match: 'SKU-P3' } } },
  });
  await world.sync();
});
afterAll(() => world.remove());

const run = (...args: string[]) => cli([...args, '-c', world.configFile]);
const published = () =>
  world
    .contents()
    .publications.filter(({ status }) => status === 'published')
    .map(({ sku }) => text(sku));

describe('dpp-sync publish', () => {
  it('publish publishes complete products, and names for each other one what is missing', async () => {
    const { exitCode, json, stderr } = await run('publish', 'SKU-P1', 'P2', 'P3', '--json');
    expect(exitCode).toBe(4);
    expect(json()).toMatchObject({
      ok: false,
      passports: [
        { asked: 'SKU-P1', key: 'P1', sku: 'SKU-P1', state: 'published', reason: null, holds: [] },
        { asked: 'P2', key: 'P2', state: 'none', holds: [expect.stringContaining('bom.csv:4')] },
        { asked: 'P3', key: 'P3', state: 'blocked', reason: { code: 'gate', status: 409 }, holds: [] },
      ],
    });
    expect(published()).toEqual(['SKU-P1']);
    expect(`${JSON.stringify(json())}${stderr}`).not.toContain(API_KEY);
  });

  it('publish reports the same to people as in its document', async () => {
    const { exitCode, stdout } = await run('publish', 'P1', 'P2', 'P3');
    expect(exitCode).toBe(4);
    expect(stdout).toContain('✓ P1 is published already.');
    expect(stdout).toMatch(
      /! P2 is not complete, so its passport was not published:\n {2}- A row of the product has an error: bom\.csv:4/,
    );
    expect(stdout).toContain('✗ P3 is blocked: The passport cannot be published: review is missing.');
    expect(published()).toEqual(['SKU-P1']);
  });

  it('publish does nothing at all where a product is unknown', async () => {
    world.requests();
    const { exitCode, json } = await run('publish', 'P1', 'SKU-P', '--json');
    expect(exitCode).toBe(2);
    expect(json()).toMatchObject({ ok: false, error: { code: 'item.unknown' } });
    expect(world.requests()).toEqual({});
  });

  it('publish shows why a passport waits beside its product, and its history under its own name', async () => {
    const product = await runHere(['show', 'product', 'P2', '-c', world.configFile]);
    expect(product.stdout).toMatch(
      /Passport {2}none\n {2}The passport waits until its product is complete:\n {2}- A row of the product/,
    );
    const passport = await runHere(['show', 'passport', 'SKU-P3', '--json', '-c', world.configFile]);
    expect(passport.json()).toMatchObject({
      item: { kind: 'passport', key: 'P3', state: 'blocked', reason: { code: 'gate' } },
      passport: { state: 'blocked', acknowledged: 'initialized', desired: { status: 'published', because: 'person' } },
    });
  });

  it(
    'publish succeeds once the business rule allows it, though the API repeats its refusal for the key that it was given',
    covers(['cached-refusal', 'gate'], 'I6'),
    async () => {
      world.sandbox.approvePassport('acme', 'SKU-P3');
      const { exitCode, json } = await run('publish', 'P3', '--json');
      expect(exitCode).toBe(0);
      expect(json()).toMatchObject({ ok: true, passports: [{ asked: 'P3', state: 'published' }] });
      expect(published()).toEqual(['SKU-P1', 'SKU-P3']);
    },
  );
});

describe('dpp-sync unpublish', () => {
  it('unpublish withdraws a public passport, once', async () => {
    expect((await run('unpublish', 'SKU-P1')).stdout).toContain('SKU-P1 is not public any more.');
    expect(published()).toEqual(['SKU-P3']);
    const again = await run('unpublish', 'P1', 'P2', '--json');
    expect(again.exitCode).toBe(0);
    expect(again.json()).toMatchObject({ passports: [{ state: 'unpublished' }, { state: 'none' }] });
  });
});

describe('publish with a key that the API refuses', () => {
  it('publish with a key that the API refuses reports the key once, with the unset variable, and no passport as published', async () => {
    const refused = await createWorld({
      queue: queue(),
      config: { sources: SMALL_SOURCES },
      files: smallFiles(SMALL),
      sandbox: { gates: { materialData: { enabled: false } } },
    });
    try {
      await refused.sync();
      const config = readFileSync(refused.configFile, 'utf8');
      refused.write('dpp-sync.yaml', config.replace(API_KEY, '${DPP_UNSET_KEY:-no-key-yet}'));
      const { exitCode, stdout, stderr } = await cli(['publish', '--all', '--yes', '-c', refused.configFile]);
      expect(exitCode).toBe(3);
      expect(stdout).toMatch(
        /✗ P1 was not published, because of the error below\. The passport stays due\.\n✗ P2 was not published/,
      );
      expect(stdout).not.toContain('is none');
      expect(`${stdout}${stderr}`.match(/The API key is invalid/g)).toHaveLength(1);
      expect(stderr).toContain('The variable DPP_UNSET_KEY is not set, so the key is the default that the config has');
      const shown = await runHere(['show', 'passport', 'P1', '-c', refused.configFile]);
      expect(shown.stdout).toMatch(/next step {2}Replace the key\. .*\n .* check\n/);
      const check = await cli(['check', '-c', refused.configFile]);
      expect(check.stdout + check.stderr).toContain('The variable DPP_UNSET_KEY is not set');
    } finally {
      await refused.remove();
    }
  });
});
