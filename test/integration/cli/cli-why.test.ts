import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { EXPORT_SOURCES, FLAWED_FILES } from '../../support/worlds/cli-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
beforeAll(async () => {
  // The platform publishes no product whose materials have no origin.
  const sources = EXPORT_SOURCES.map((source) => ({
    ...source,
    mappings: source.mappings.map((mapping) =>
      mapping.to === 'material' ? { ...mapping, fields: { ...mapping.fields, origin_country: '"SE"' } } : mapping,
    ),
  }));
  const passports = { init: 'when-complete', publish: 'auto' };
  // The product 4 waits for a material that no row gives.
  const files = {
    ...FLAWED_FILES,
    'products.csv': `${FLAWED_FILES['products.csv']}4,A/4 x,Valve,DE\n`,
    'boms.csv': 'NO,PARENT,PART,QTY\n1,1,900,2.5\n2,4,none,1\n',
  };
  world = await createWorld({ config: { sources, passports }, files });
});
afterAll(() => world.remove());

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);

describe('dpp-sync why', () => {
  it('why says that there is no ledger yet, with 2', async () => {
    expect(await run('why', 'A-1')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('no ledger yet') });
  });

  describe('after a sync', () => {
    beforeAll(() => world.sync());

    it('why ends with 0 for a published passport', async () => {
      const { exitCode, stdout } = await run('why', 'A-1');
      expect({ exitCode, first: stdout.split('\n')[0] }).toEqual({
        exitCode: 0,
        first: 'The passport of A-1 is published.',
      });
      expect(stdout).toContain('\n  ✓ Its row was read (erp/products, products.csv:2) and mapped.\n');
    });

    it('why ends with 4 for a published passport that needs a person', async () => {
      const before = readFileSync(join(world.folder, 'products.csv'), 'utf8');
      const wrong = before.replace(/^(1,.*,)[A-Z]{2}$/m, '$1XX');
      expect(wrong).not.toBe(before);
      world.write('products.csv', wrong);
      await world.sync();
      const { exitCode, json, stdout } = await run('why', 'A-1', '--json');
      expect([exitCode, stdout]).toEqual([4, expect.stringContaining('"stop"')]);
      expect(json()).toMatchObject({ ok: false, published: true });
      world.write('products.csv', before);
      await world.sync();
      expect((await run('why', 'A-1')).exitCode).toBe(0);
    });

    it('why ends with 4 for a passport that waits, and shows for what', async () => {
      const { exitCode, stdout } = await run('why', 'A/4 x');
      expect(exitCode).toBe(4);
      expect(stdout).toContain('  … Its BOM item 2 waits for an item that it refers to.\n');
      expect(stdout).toContain(
        '  ✗ The material none is in no file, and erp/boms, boms.csv:3 names it. Add the missing row to its source, or correct the row that names it.\n',
      );
    });

    it('why answers for a product that only its row in quarantine has, as one document', async () => {
      const { exitCode, json } = await run('why', 'A-3', '--json');
      expect(exitCode).toBe(4);
      expect(json()).toMatchObject({
        ok: false,
        key: 'A-3',
        published: false,
        answer: expect.stringContaining('the row of A-3 has an error (erp/products, products.csv:4): '),
        steps: [{ standing: 'ok' }, { standing: 'stop', command: 'dpp-sync sync erp', record: expect.any(Number) }],
      });
    });

    it('why says that a row in quarantine is corrected before its source is read again', async () => {
      const { stdout } = await run('why', 'A-3');
      expect(stdout).toMatch(/\n {2}✗ The row of A-3 has an error .*\n {6}then: .*dpp-sync.* sync erp\n$/);
    });

    it('why names what may be meant by a product that nothing names, with 2', async () => {
      const { exitCode, stdout, stderr } = await run('why', 'A-1x');
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain('There is no product "A-1x" in the ledger.');
      expect(stderr).toContain('Did you mean A-1?');
    });
  });
});

describe('dpp-sync items', () => {
  it('items lists products whose passports wait, with what is missing first', async () => {
    const { exitCode, stdout, stderr } = await run('items', '--state', 'incomplete');
    expect(exitCode).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(2);
    expect(stdout).toMatch(/product +4 +A\/4 x +Valve +delivered .* Its BOM item 2 is waiting for the material none/);
    expect(stderr).toContain(' why KEY');
    const { stdout: lines } = await run('items', '--state', 'incomplete', '--json');
    expect(JSON.parse(lines)).toMatchObject({
      kind: 'product',
      key: '4',
      missingFirst: 'Its BOM item 2 is waiting for the material none, which is in no file.',
    });
  });

  it('items shows and finds passports by the names of their products', async () => {
    const { stdout } = await run('items', '--kind', 'passport', '--search', 'pump', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'passport', key: '1', name: 'Pump' });
  });
});

describe('commands that only look into the ledger', () => {
  const MISSING = '${file:/nowhere/secret}';

  it.each([
    ['status', 4],
    ['items', 0],
    ['show product A-1', 0],
    ['quarantine', 0],
    ['why A-1', 0],
  ])('%s needs neither the API key nor the token of the dashboard', async (command, expected) => {
    const config = parse(readFileSync(world.configFile, 'utf8')) as Record<string, object>;
    const target = { ...config['target'], apiKey: MISSING };
    world.write('elsewhere.yaml', stringify({ ...config, target, web: { token: MISSING } }));
    const { exitCode, stdout, stderr } = await runHere([...command.split(' '), '-c', `${world.folder}/elsewhere.yaml`]);
    expect({ exitCode, stderr: stderr.includes('secret') }).toEqual({ exitCode: expected, stderr: false });
    expect(stdout).not.toBe('');
  });
});
