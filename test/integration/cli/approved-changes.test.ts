// A held run of a source that gives changes: its cursor stays, and the source learns nothing of the run.

import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SDK = pathToFileURL(join(import.meta.dirname, '../../../src/sdk/index.ts')).href;

/** Gives the rows of a file from the line of its cursor on, two on a page. It notes what it was asked and what was acknowledged. */
const CONNECTOR = `import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { defineConnector, z } from '${SDK}';
export default defineConnector({
  id: 'changing',
  title: 'The changes of a file',
  reads: 'changes',
  options: z.strictObject({ folder: z.string().describe('The folder.') }),
  streamOptions: z.strictObject({}),
  async open({ folder }) {
    const note = (text) => appendFileSync(folder + '/calls.txt', text + '\\n');
    return {
      async check() { return { found: 'a file' }; },
      async *pull({ cursor }) {
        note('from ' + JSON.stringify(cursor));
        const rows = readFileSync(folder + '/rows.txt', 'utf8').trim().split('\\n');
        for (let from = cursor ?? 0; from < rows.length; from += 2) {
          const page = rows.slice(from, from + 2).map((name, at) => ({
            fields: { SKU: 'A-' + (from + at), NAME: name },
            place: { file: 'rows.txt', line: from + at + 1 },
          }));
          yield { rows: page, cursor: Math.min(rows.length, from + 2) };
        }
      },
      async acknowledge() {
        note('acknowledged');
        if (existsSync(folder + '/broken')) throw new Error('The source takes no acknowledgement');
      },
      async close() {},
    };
  },
});
`;

let world: World;
beforeEach(async () => {
  world = await createWorld({
    config: { sources: [] },
    files: { 'changing.mjs': CONNECTOR, 'rows.txt': 'One\nTwo\nThree\n' },
  });
  const source = {
    id: 'erp',
    connector: './changing.mjs',
    options: { folder: world.folder },
    streams: { rows: { key: ['SKU'] } },
    approve: { creates: 2 },
    mappings: [
      {
        stream: 'rows',
        to: 'product',
        key: 'row.SKU',
        fields: { sku: 'row.SKU', name: 'row.NAME', country_of_origin: '"DE"' },
      },
    ],
  };
  const config = readFileSync(world.configFile, 'utf8').replace('sources: []', `sources: ${JSON.stringify([source])}`);
  writeFileSync(world.configFile, config);
});
afterEach(() => world.remove());

const dpp = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const calls = (): string[] => {
  const file = join(world.folder, 'calls.txt');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  writeFileSync(file, '');
  return lines.filter((line) => line !== '');
};
const names = () => world.contents().products.map((product) => (product as { name: string }).name);

it('the cursor of a held run stays, and an approved run moves it', async () => {
  expect((await dpp('sync')).exitCode).toBe(4);
  expect([calls(), names()]).toEqual([['from null'], []]);
  world.write('rows.txt', 'One\nTwo\nThree\nFour\n');
  expect((await dpp('sync')).exitCode).toBe(4);
  expect([calls(), names()]).toEqual([['from null'], []]);
  world.write('rows.txt', 'One\nTwo\nThree\nFour\nFive\n');
  expect((await dpp('sync', '--accept', 'erp')).exitCode).toBe(0);
  // What came after the approval is within the bounds.
  expect([calls(), names().length]).toEqual([['from null', 'acknowledged'], 5]);
  world.write('rows.txt', 'One\nTwo\nThree\nFour\nFive\nSix\n');
  expect((await dpp('sync')).exitCode).toBe(0);
  expect([calls(), names().length]).toEqual([['from 5', 'acknowledged'], 6]);
});

it('a source that takes no acknowledgement fails the approved run, and the next one has nothing to ask', async () => {
  expect((await dpp('sync')).exitCode).toBe(4);
  world.write('broken', '');
  const failed = await dpp('sync', '--accept', 'erp');
  expect([failed.exitCode, failed.stderr + failed.stdout]).toEqual([
    expect.toBeOneOf([1, 3]),
    expect.stringContaining('The source takes no acknowledgement'),
  ]);
  expect(names()).toHaveLength(3);
  unlinkSync(join(world.folder, 'broken'));
  expect((await dpp('sync')).exitCode).toBe(0);
  expect(names()).toHaveLength(3);
});
