// What people see of a source that gives only changes, some of which are tombstones.

import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { CHANGE_LOG_CONNECTOR, createChangeLog } from '../../support/connectors/change-log.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOURCE = {
  id: 'erp',
  connector: './log.mjs',
  streams: { items: { key: ['ID'] }, groups: { key: ['ID'] } },
  mappings: [
    {
      stream: 'items',
      to: 'product',
      key: 'row.ID',
      fields: { sku: 'row.ID', name: 'row.NAME + lookup("groups", "P2", " of no group")', country_of_origin: '"DE"' },
    },
  ],
  lookups: { groups: { stream: 'groups', key: 'ID', value: 'NAME' } },
};

let world: World;
beforeEach(async () => {
  world = await createWorld({
    config: { sources: [SOURCE] },
    files: { 'log.mjs': CHANGE_LOG_CONNECTOR.replace("'changes-and-snapshot'", "'changes'") },
  });
  const log = createChangeLog((text) => world.write('log.json', text));
  log.become([
    { ID: 'P1', NAME: 'Fan' },
    { ID: 'P2', NAME: 'Pump' },
  ]);
  log.become([{ ID: 'P1', NAME: 'Fan' }]);
});
afterEach(() => world.remove());

it('a preview leaves tombstones out, also among the rows that mappings look up', async () => {
  const { stdout } = await runHere(['preview', 'erp', '--stream', 'items', '--json', '-c', world.configFile]);
  const { streams } = JSON.parse(stdout) as { streams: { records: { items: unknown[] }[] }[] };
  expect(streams.map(({ records }) => records.map(({ items }) => items))).toMatchObject([
    [[{ key: 'P1', payload: { name: 'Fan of no group' } }]],
  ]);
});

it('a proposal for a source leaves tombstones out', async () => {
  const config = readFileSync(world.configFile, 'utf8');
  writeFileSync(world.configFile, config.slice(0, config.indexOf('    mappings:')));
  const { stdout } = await runHere(['init', '--from-source', 'erp', '-c', world.configFile]);
  expect(stdout).toContain('name: row.NAME # by the name of the column; filled in all records');
});
