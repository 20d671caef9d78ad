import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld({
    config: {
      sources: [
        {
          id: 'erp',
          connector: 'csv',
          streams: { cups: { path: './cups.csv', key: ['SKU'] } },
          mappings: [{ stream: 'cups', to: 'product', key: 'row.SKU', fields: { sku: 'row.SKU', name: 'row.SKU' } }],
        },
      ],
    },
    files: { 'cups.csv': 'SKU\nC1\nC2\nC3\n' },
    target: { apiKey: 'dpp_unknown_key_0123456789' },
  });
});
afterAll(() => world.remove());

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const key = (value: string) => {
  const config = readFileSync(world.configFile, 'utf8').replace(/apiKey: .*/, () => `apiKey: ${value}`);
  world.write('dpp-sync.yaml', config);
};

describe('`show` of an item that is due and was never sent', () => {
  it('says why the list of the platform could not be read, without which nothing is created', async () => {
    expect((await run('sync', '--wait', '0')).exitCode).toBe(3);
    const { stdout } = await run('show', 'product', 'C2');
    expect(stdout).toContain("reason     The platform's list of products could not be read: The API key is invalid.");
    expect(stdout).toMatch(/next step {2}Correct the cause that the message names\. .*\n .* status\n/);
  });

  it('says that the API refuses the key, also where another item has met that', async () => {
    key(API_KEY);
    expect((await run('sync')).exitCode).toBe(0);
    key('dpp_unknown_key_0123456789');
    world.write('cups.csv', 'SKU\nC1\nC2\nC3\nC4\nC5\n');
    expect((await run('sync', '--wait', '0')).exitCode).toBe(3);
    const shown = await Promise.all(['C4', 'C5'].map((sku) => run('show', 'product', sku)));
    for (const { stdout } of shown) expect(stdout).toContain('next step  Replace the key.');
    const texts = shown.map(({ stdout }) => /reason {5}(.*)/.exec(stdout)?.[1]);
    expect(new Set(texts)).toEqual(
      new Set([
        'The API key is invalid. (HTTP 401)',
        'not sent, because the API refuses other items: The API key is invalid.',
      ]),
    );
  });
});
