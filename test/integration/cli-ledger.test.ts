import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cli } from '../support/cli.ts';
import { GOOD_FILES, SMALL_SOURCES } from '../support/cli-export.ts';
import { createWorld, type World } from '../support/world.ts';

let world: World;

beforeEach(async () => {
  world = await createWorld({
    config: { sources: SMALL_SOURCES.map((source) => ({ ...source, guard: { maxMissing: '100%', maxDrop: '100%' } })) },
    files: GOOD_FILES,
  });
  expect((await run('sync')).exitCode).toBe(0);
});
afterEach(() => world.remove());

const run = (...args: string[]) => cli([...args, '-c', world.configFile]);

/** Overwrites all but the first page, as a disk that fails or a copy that went wrong would. */
function damageLedger(): void {
  const file = join(world.folder, 'data/ledger.db');
  const { size } = statSync(file);
  const page = 4096;
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(size - page, 0xa5), 0, size - page, page);
  closeSync(handle);
}

describe('a damaged ledger', () => {
  it('is named with its cure by every command that looks into it, which ends with 3', async () => {
    damageLedger();
    for (const args of [['status'], ['items'], ['quarantine'], ['show', 'product', '1']]) {
      const { exitCode, json, stderr } = await run(...args, '--json');
      expect({ args, exitCode }).toEqual({ args, exitCode: 3 });
      expect(json()).toMatchObject({ ok: false, error: { code: 'ledger.unreadable', path: 'ledger' } });
      expect(stderr).toContain('The ledger is damaged');
      expect(stderr).toContain('backup');
    }
  });

  it('ends with 3 what would write it', async () => {
    damageLedger();
    for (const args of [['sync'], ['replay', '--dry-run']]) {
      const { exitCode, json } = await run(...args, '--json');
      expect({ args, exitCode }).toEqual({ args, exitCode: 3 });
      expect(json()).toMatchObject({ ok: false, error: { code: 'ledger.unreadable', path: 'ledger' } });
    }
  });
});

describe('an item whose row has become unusable', () => {
  it('is shown as delivered, with its row to be corrected as the next step', async () => {
    const sound = (await run('show', 'product', '1')).stdout;
    expect(sound).toContain('next step  Nothing: the platform has it as the source wants it.');
    world.write('products.csv', GOOD_FILES['products.csv'].replace('Pump,DE', 'Better pump,XX'));
    expect((await run('sync')).exitCode).toBe(4);
    const { stdout } = await run('show', 'product', '1');
    expect(stdout).toMatch(/state +delivered/);
    expect(stdout).toMatch(/next step +Its row is quarantined: correct the row in the source, or the mapping/);
    expect(stdout).not.toContain('as the source wants it');
    expect(stdout).toContain('Better pump');

    world.write('products.csv', GOOD_FILES['products.csv'].split('\n').toSpliced(1, 1).join('\n'));
    await run('sync');
    const gone = (await run('show', 'product', '1')).stdout;
    expect(gone).toContain('missing from its source');
    expect(gone).not.toContain('Its row is quarantined');
  });
});
