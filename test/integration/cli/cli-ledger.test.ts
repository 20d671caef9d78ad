import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FIRST_VERSION } from '../../../src/ledger/upgrade-steps.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { covers } from '../../support/docs/reliability.ts';
import { createFrozenLedger, write } from '../../support/ledger/frozen-ledger.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { mapRows, pullRows, row } from '../../support/ledger/records.ts';
import { withLedger } from '../../support/ledger/world-ledger.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
afterEach(() => world.remove());

/** None of these gets as far as to a queue. */
const run = (...args: string[]) => runHere([...args, '-c', world.configFile, '--json']);
const ledgerFile = () => join(world.folder, 'data/ledger.db');

async function createFilledLedger(): Promise<void> {
  world = await createWorld({ config: { sources: EXPORT_SOURCES }, files: GOOD_FILES });
  await withLedger(world, async (ledger) => {
    await pullRows(ledger, { rows: Array.from({ length: 300 }, (_, at) => row(String(at), { name: `Part ${at}` })) });
    await mapRows(ledger, ({ id }) => items(product(text(id))));
  });
}

const READING = [['status'], ['items'], ['quarantine'], ['show', 'product', '1'], ['ledger', 'backup', 'to.db']];
const WRITING = [['sync'], ['replay', '--dry-run'], ['settle', '1', '--rejected']];

/** Overwrites all pages but the first, like a failing disk or a broken copy. */
function damageLedger(): void {
  const file = ledgerFile();
  const { size } = statSync(file);
  const page = 4096;
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(size - page, 0xa5), 0, size - page, page);
  closeSync(handle);
}

describe('a ledger that cannot be used', () => {
  beforeEach(createFilledLedger);

  it(
    'a damaged ledger is named with its cure by every command, which ends with 3 and changes nothing',
    covers('ledger-corrupt', 'I8'),
    async () => {
      damageLedger();
      const before = readFileSync(ledgerFile());
      for (const args of [...READING, ...WRITING]) {
        const { exitCode, json, stderr } = await run(...args);
        expect({ args, exitCode }).toEqual({ args, exitCode: 3 });
        expect(json()).toMatchObject({ ok: false, error: { code: 'ledger.unreadable', path: 'ledger' } });
        expect(stderr).toMatch(/The ledger \S+ledger\.db is damaged/);
        expect(stderr).toContain('backup');
      }
      expect(readFileSync(ledgerFile())).toEqual(before);
    },
  );

  it('a damaged ledger can be replaced by a backup', covers('ledger-corrupt', 'I5', 'I8'), async () => {
    const backup = join(world.folder, 'backup.db');
    expect((await run('ledger', 'backup', backup)).exitCode).toBe(0);
    damageLedger();
    expect((await run('ledger', 'verify')).json()).toMatchObject({ ok: false });
    expect((await run('ledger', 'restore', backup)).json()).toMatchObject({ ok: true, kept: expect.any(String) });
    expect((await run('ledger', 'verify')).json()).toMatchObject({ ok: true, findings: [] });
    expect((await run('status')).json()).toMatchObject({ items: { product: { in_doubt: 300 } } });
  });

  it(
    'a ledger from a newer version is named by every command, which ends with 3 and changes nothing',
    covers('ledger-newer', 'I8'),
    async () => {
      const db = new Database(ledgerFile());
      db.pragma('user_version = 99');
      db.close();
      const before = readFileSync(ledgerFile());
      for (const args of [...READING, ...WRITING]) {
        const { exitCode, json, stderr } = await run(...args);
        expect({ args, exitCode }).toEqual({ args, exitCode: 3 });
        expect(json()).toMatchObject({ ok: false, error: { code: 'ledger.newer', path: 'ledger' } });
        expect(stderr).toContain('Install that version or a later one');
      }
      expect(readFileSync(ledgerFile())).toEqual(before);
    },
  );
});

describe('a ledger that is too old to be upgraded', () => {
  it('a ledger that is too old is refused by every command, which ends with 3, names the commit that upgrades it and changes nothing', async () => {
    world = await createWorld({ config: { sources: EXPORT_SOURCES }, files: GOOD_FILES });
    mkdirSync(join(world.folder, 'data'), { recursive: true });
    const [file, backup] = [ledgerFile(), join(world.folder, 'backup.db')];
    for (const one of [file, backup]) {
      createFrozenLedger(one, { target: world.baseUrl });
      write(one, `PRAGMA user_version = ${FIRST_VERSION - 1}`);
    }
    const files = () => [readFileSync(file), readFileSync(backup), readdirSync(join(world.folder, 'data'))];
    const before = files();
    const care = [['verify'], ['verify', backup], ['restore'], ['restore', backup]].map((args) => ['ledger', ...args]);
    const said = new Set<string>();
    for (const args of [...READING, ...WRITING, ...care, ['start']]) {
      const { exitCode, json, stderr } = await run(...args);
      expect({ args, exitCode, stderr }).toMatchObject({ args, exitCode: 3 });
      const { error } = json() as { error: { code: string; suggestion: string } };
      expect({ args, code: error.code }).toEqual({ args, code: 'ledger.older' });
      expect(stderr).toMatch(/git checkout [0-9a-f]{40}` and `npm ci`, and then `npm run -s dpp-sync -- replay/);
      said.add(error.suggestion);
    }
    expect(said.size).toBe(1);
    expect(files()).toEqual(before);
    expect(existsSync(join(world.folder, 'to.db'))).toBe(false);
  });
});

describe('an item whose row has become unusable', () => {
  it('an item whose row has become unusable is shown as delivered, with its row to be corrected as the next step', async () => {
    const guard = { maxMissing: '100%', maxDrop: '100%' };
    world = await createWorld({
      config: { sources: EXPORT_SOURCES.map((source) => ({ ...source, guard })) },
      files: GOOD_FILES,
    });
    const show = ['show', 'product', '1', '-c', world.configFile];
    await world.sync();
    const sound = (await runHere(show)).stdout;
    expect(sound).toContain('next step  Nothing: the platform has it as the source has it.');
    world.write('products.csv', GOOD_FILES['products.csv'].replace('Pump,DE', 'Better pump,XX'));
    expect((await world.sync()).quarantined).toBe(1);
    const { stdout } = await runHere(show);
    expect(stdout).toMatch(/state +delivered/);
    expect(stdout).toMatch(/next step +Correct it in the source, .* Its row has an error\. Until the next sync/);
    expect(stdout).not.toContain('as the source has it');
    expect(stdout).toContain('Better pump');

    world.write('products.csv', GOOD_FILES['products.csv'].split('\n').toSpliced(1, 1).join('\n'));
    await world.sync();
    const gone = (await runHere(show)).stdout;
    expect(gone).toContain('missing from its source');
    expect(gone).not.toContain('Its row has an error');
  });
});
