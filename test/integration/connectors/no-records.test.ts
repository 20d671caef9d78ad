import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;

afterEach(() => world.remove());

const PARTS = '<parts date="2026-01-31"><head/><part><no>1</no><name>Pump</name></part><part><no>2</no></part></parts>';

async function begin(at: string, files: Record<string, string> = { 'parts.xml': PARTS }): Promise<void> {
  const mapping = { stream: 'parts', to: 'product', key: 'row.no', fields: { sku: 'row.no', name: 'row.name' } };
  const streams = { parts: { path: './*.xml', at, key: ['no'] } };
  world = await createWorld({
    config: { sources: [{ id: 'pim', connector: 'xml', streams, mappings: [mapping] }] },
    files,
  });
}
const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);

describe('an XML export in which no element is a record', () => {
  it('an XML export whose path is misspelt stops check, preview and the first sync with one sentence', async () => {
    const message = 'parts.xml has no element /parts/prat: /parts has no prat; did you mean part? It has head, part.';
    await begin('/parts/prat');
    for (const command of [['check'], ['preview', 'pim'], ['sync']]) {
      const { exitCode, stdout, stderr } = await run(...command);
      expect(exitCode, command[0]).toBe(3);
      expect(`${stdout}${stderr}`).toContain(message);
      expect(`${stdout}${stderr}`).toContain('sources[0].streams.parts');
    }
    expect((await run('items', '--json')).stdout).toBe('');
  });

  it('an XML export that may have no such records is read with a warning, which check gives too', async () => {
    const message = 'parts.xml has no element /parts/article: /parts has no article. It has head, part.';
    await begin('/parts/article');
    const checked = await run('check');
    expect(checked.exitCode).toBe(0);
    expect(checked.stdout).toContain(`warning: No record was found. ${message}`);
    for (const command of [['preview', 'pim'], ['sync']]) {
      const { exitCode, stderr } = await run(...command);
      expect(exitCode, command[0]).toBe(0);
      const logged = stderr.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as object] : []));
      expect(logged).toMatchObject([
        {
          level: 40,
          msg: `No record was read. ${message} If there should be records, correct \`at\`.`,
          stream: 'parts',
        },
      ]);
    }
  });

  it('an XML export that is an empty list is read without a warning', async () => {
    await begin('/parts/part', { 'parts.xml': '<parts/>' });
    for (const command of [['check'], ['preview', 'pim'], ['sync']]) {
      const { exitCode, stdout, stderr } = await run(...command);
      expect(exitCode, command[0]).toBe(0);
      expect(`${stdout}${stderr}`).not.toContain('No record');
    }
  });
});
