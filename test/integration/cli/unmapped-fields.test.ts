import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);

/** The sandbox publishes only products with a country of origin. The mapping gives it only if it is asked to. */
function configWith({ country }: { country: boolean }): Record<string, unknown> {
  const [source] = EXPORT_SOURCES;
  const mappings = source?.mappings.map((mapping) => {
    const { country_of_origin: origin, ...fields } = mapping.fields as Record<string, string>;
    return { ...mapping, fields: country && origin !== undefined ? { ...fields, country_of_origin: origin } : fields };
  });
  return { sources: [{ ...source, mappings }] };
}

async function begin(files: Record<string, string>, country: boolean): Promise<void> {
  world = await createWorld({
    config: configWith({ country }),
    files,
    sandbox: { gates: { materialData: { enabled: false } } },
  });
  await world.sync();
}

it('a sync says of a field that no mapping gives where to add it, and a sync with it publishes the passports', async () => {
  await begin(GOOD_FILES, false);
  const all = await run('publish', '--all', '--yes');
  expect(all.exitCode).toBe(4);
  expect(all.stdout.split('\n').slice(0, 2)).toEqual([
    '✗ None of the 2 passports was published:',
    '✗ 1 is blocked: The passport cannot be published: country_of_origin is missing.',
  ]);
  expect(all.stdout).not.toContain('✓');

  const cure =
    'No mapping gives country_of_origin to the product. Add it to `fields` of sources[0].mappings[0] in the config.';
  const { stdout } = await run('show', 'passport', '1');
  expect(stdout).toContain(`  next step  ${cure}\n`);
  expect(stdout).toMatch(/\n +.* sync erp\n/);
  expect((await run('why', '1', '--json')).json()).toMatchObject({
    steps: expect.arrayContaining([
      expect.objectContaining({ standing: 'stop', text: expect.stringContaining(cure), command: 'dpp-sync sync erp' }),
    ]),
  });

  const config = parse(readFileSync(world.configFile, 'utf8')) as object;
  world.write('dpp-sync.yaml', stringify({ ...config, ...configWith({ country: true }) }));
  expect((await run('sync')).exitCode).toBe(0);
  expect(world.contents().publications).toHaveLength(2);
});

it('a sync leaves an empty value of a mapped field to the person who corrects the source', async () => {
  await begin({ ...GOOD_FILES, 'products.csv': 'ID,SKU,NAME,COUNTRY\n1,A-1,Pump,\n' }, true);
  const { stdout } = await run('publish', '--all', '--yes');
  expect(stdout).toContain('✗ The passport was not published:\n✗ 1 is blocked: ');
  expect((await run('show', 'passport', '1')).stdout).toMatch(/next step {2}Fulfil the rule, in the source, /);
});
