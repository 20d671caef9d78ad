import { afterEach, expect, it } from 'vitest';
import { runHere } from '../../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../../support/worlds/world.ts';

const SOURCE = {
  id: 'erp',
  connector: 'csv',
  options: { delimiter: ',' },
  streams: { default: { path: './erp.csv', key: ['SKU'] } },
  mappings: [{ stream: 'default', to: 'product', key: 'row.SKU', fields: { sku: 'row.SKU', name: 'row.NAME' } }],
};

let world: World;
afterEach(() => world.remove());

const dpp = (...args: string[]) => runHere([...args, '-c', world.configFile]);

it('a plan does not say that nothing would be sent while a sync would look up a write', async () => {
  world = await createWorld({ config: { sources: [SOURCE] }, files: { 'erp.csv': 'SKU,NAME\nA,Pump\n' } });
  await dpp('sync');
  world.write('erp.csv', 'SKU,NAME\nA,Pump\nB,Valve\n');
  world.sandbox.faults.add({ operation: 'product.create', kind: 'reset-after', count: 1 });
  world.sandbox.faults.add({ operation: 'product.list', kind: 'status', status: 403 });
  await dpp('sync', '--wait', '0');

  const { exitCode: code, stdout } = await dpp('plan', '--exit-code');
  expect(code).toBe(4);
  expect(stdout).toContain('1 write has no answer yet. A sync asks the platform');
  expect(stdout).not.toContain('send nothing.');
});

it('a plan does not say that nothing would be sent if a source could not be read', async () => {
  world = await createWorld({ config: { sources: [SOURCE] } });
  const { exitCode: code, stdout } = await dpp('plan');
  expect(code).toBe(3);
  expect(stdout).toContain('What erp would change is not known.');
  expect(stdout).not.toContain('send nothing.');
});
