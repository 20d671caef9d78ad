import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cli } from '../../support/cli/cli.ts';
import { runHere } from '../../support/cli/cli-here.ts';
import { covers } from '../../support/docs/reliability.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { createOldLedger } from '../../support/ledger/old-ledger.ts';
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
        expect(stderr).toContain('The ledger is damaged');
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

describe('a ledger of an older version', () => {
  /** A product that is due, and none of the rows of the world. */
  async function createOlderLedger(): Promise<void> {
    world = await createWorld({ config: { sources: EXPORT_SOURCES }, files: GOOD_FILES });
    mkdirSync(join(world.folder, 'data'), { recursive: true });
    const old = createOldLedger(ledgerFile());
    old.db.prepare("UPDATE meta SET value = ? WHERE name = 'target'").run(world.baseUrl);
    old.item({ kind: 'product', key: 'old', desired: { name: 'Old', sku: 'OLD-1', country_of_origin: 'DE' } }, [
      { operation: 'product.create', state: 'due' },
    ]);
    old.close();
  }

  it('a ledger of an older version is left as it is by commands that only read, and can be checked and backed up', async () => {
    await createOlderLedger();
    for (const args of [['status'], ['items'], ['show', 'product', 'old']]) {
      expect((await run(...args)).json()).toMatchObject({ ok: false, error: { code: 'ledger.older' } });
    }
    const backup = join(world.folder, 'backup.db');
    expect((await run('ledger', 'backup', backup)).json()).toMatchObject({ ok: true, items: { product: { due: 1 } } });
    for (const file of [[], [backup]]) {
      expect((await run('ledger', 'verify', ...file)).json()).toMatchObject({ ok: true, findings: [] });
    }
    expect((await run('ledger', 'restore', backup)).json()).toMatchObject({ ok: true });
    expect((await run('items')).json()).toMatchObject({ key: 'old', state: 'in_doubt' });
  });

  it('a ledger of an older version is upgraded by the next sync, which names the backup and sends what was due', async () => {
    await createOlderLedger();
    const { exitCode, stderr, stdout } = await cli(['sync', '-c', world.configFile, '--json']);
    const [backup = ''] = readdirSync(join(world.folder, 'data')).filter((name) => name.includes('backup'));
    expect(stderr).toContain(`A backup of the ledger was made: ${ledgerFile().replace('ledger.db', backup)}.`);
    // Its stream is not in the config, so the guard holds its one record until a person accepts that.
    expect(exitCode).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({
      causes: [{ cause: 'guarded', count: 1 }],
      items: { product: { delivered: 3 } },
    });
    expect(world.sandbox.inspect().organizations['acme']?.products.map((one) => one['sku'])).toContain('OLD-1');
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
    expect(sound).toContain('next step  Nothing: the platform has the item as the source has it.');
    world.write('products.csv', GOOD_FILES['products.csv'].replace('Pump,DE', 'Better pump,XX'));
    expect((await world.sync()).quarantined).toBe(1);
    const { stdout } = await runHere(show);
    expect(stdout).toMatch(/state +delivered/);
    expect(stdout).toMatch(/next step +Its row is quarantined\. Correct the row in the source, or the mapping/);
    expect(stdout).not.toContain('as the source has it');
    expect(stdout).toContain('Better pump');

    world.write('products.csv', GOOD_FILES['products.csv'].split('\n').toSpliced(1, 1).join('\n'));
    await world.sync();
    const gone = (await runHere(show)).stdout;
    expect(gone).toContain('missing from its source');
    expect(gone).not.toContain('Its row is quarantined');
  });
});
