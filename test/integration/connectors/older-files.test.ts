import { existsSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;

afterEach(() => world.remove());

const run = (...args: string[]) => runHere([...args, '-c', world.configFile]);
const names = () => world.contents().products.map(({ name }) => name);

function write(file: string, name: string, day: number, keys: readonly string[] = ['A1', 'A2']): void {
  world.write(file, `sku,name\n${keys.map((key) => `${key},${name}\n`).join('')}`);
  utimesSync(join(world.folder, file), day * 86_400, day * 86_400);
}

async function begin(options: Record<string, unknown> = { path: './p.csv' }): Promise<void> {
  const mapping = { to: 'product', key: 'row.sku', fields: { sku: 'row.sku', name: 'row.name' } };
  const erp = { id: 'erp', connector: 'csv', options: { key: ['sku'], ...options }, mappings: [mapping] };
  world = await createWorld({ config: { sources: [erp] } });
}

describe('a file older than the one that was read last', () => {
  it('an older file is held like a guarded export until a newer one comes', async () => {
    await begin();
    write('p.csv', 'Monday', 20_000);
    expect((await run('sync')).exitCode).toBe(0);
    write('p.csv', 'Tuesday', 20_001);
    expect((await run('sync')).exitCode).toBe(0);
    for (const _ of ['held', 'held still']) {
      write('p.csv', 'Monday', 20_000);
      const { exitCode, stdout } = await run('sync');
      expect(exitCode).toBe(4);
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
        'The guard holds erp/default: p.csv was modified at 2024-10-04 00:00:00 UTC, and the export that was read last at 2024-10-05 00:00:00 UTC, which is later. With p.csv, 2 records would get former values. So none of its rows was stored.',
      );
      expect(stdout).toMatch(/If it was put back by mistake, bring a newer file: .* sync erp\n/);
      expect(stdout).toMatch(/If it is right, accept it, and its rows count: .* sync --accept erp\n/);
      expect(stdout).not.toContain('counts as missing');
      expect(names()).toEqual(['Tuesday', 'Tuesday']);
    }
    write('p.csv', 'Wednesday', 20_002);
    expect((await run('sync')).exitCode).toBe(0);
    expect(names()).toEqual(['Wednesday', 'Wednesday']);
    // The same time is no older time.
    write('p.csv', 'Thursday', 20_002);
    expect((await run('sync')).exitCode).toBe(0);
  });

  it('an older file is read when a person accepts it, and its time counts from then on', async () => {
    await begin();
    write('p.csv', 'Tuesday', 20_001);
    await run('sync');
    write('p.csv', 'Monday', 20_000);
    expect((await run('sync')).exitCode).toBe(4);
    const { exitCode, stdout } = await run('sync', '--accept', 'erp');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Accepted of erp/default: an export that is older than the one that was read before.');
    expect(names()).toEqual(['Monday', 'Monday']);
    expect((await run('sync')).exitCode).toBe(0);
  });

  it('an older file is not archived, also where the newer one was', async () => {
    await begin({ path: './p.csv', after: 'archive', archive: './read' });
    write('p.csv', 'Tuesday', 20_001);
    await run('sync');
    write('p.csv', 'Monday', 20_000);
    for (const _ of [1, 2]) expect((await run('sync')).exitCode).toBe(4);
    expect(names()).toEqual(['Tuesday', 'Tuesday']);
  });

  it('an older file with the rows that are stored is read and archived, and still older ones are compared with the newest', async () => {
    await begin({ path: './p.csv', after: 'archive', archive: './read' });
    write('p.csv', 'Tuesday', 20_003);
    await run('sync');
    write('p.csv', 'Tuesday', 20_001);
    const { exitCode, stdout, stderr } = await run('sync');
    expect([exitCode, stdout.includes('guard')]).toEqual([0, false]);
    const said = /p\.csv was modified at 2024-10-05 .* at 2024-10-07 .* later\. It has the rows that are stored/;
    expect(stderr).toMatch(said);
    expect((await run('status', '--json')).json()).toMatchObject({ warnings: [expect.stringMatching(said)] });
    expect(existsSync(join(world.folder, 'p.csv'))).toBe(false);
    write('p.csv', 'Monday', 20_002);
    expect((await run('sync')).exitCode).toBe(4);
  });

  it('an older file is not held for a changed mapping, and the message counts what would go back', async () => {
    await begin();
    write('p.csv', 'Tuesday', 20_001);
    await run('sync');
    write('p.csv', 'Tuesday', 20_000);
    world.write('dpp-sync.yaml', readFileSync(world.configFile, 'utf8').replace('row.name', 'row.sku'));
    expect((await run('sync')).exitCode).toBe(0);
    expect(names()).toEqual(['A1', 'A2']);
    write('p.csv', 'Monday', 20_000, ['A1', 'A3']);
    expect((await run('sync')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'With p.csv, 1 record would get former values, 1 would be missing and 1 would be new or back again. So none of its rows was stored.',
    );
  });

  it('the newest of several files decides, and an export without rows has a time too', async () => {
    await begin({ path: './p-*.csv' });
    write('p-1.csv', 'Monday', 20_001, ['A1']);
    write('p-2.csv', 'Monday', 20_003, ['A2']);
    await run('sync');
    write('p-1.csv', 'Tuesday', 20_004, []);
    write('p-2.csv', 'Tuesday', 20_005, []);
    expect((await run('sync')).exitCode).toBe(4);
    write('p-1.csv', 'Sunday', 20_000, ['A1']);
    write('p-2.csv', 'Sunday', 20_004, ['A2']);
    expect((await run('sync')).stdout).toContain('p-2.csv was modified at 2024-10-08');
    expect(names()).toEqual(['Monday', 'Monday']);
  });

  it('a file of several that is older than at its last read is said until a newer one comes', async () => {
    await begin({ path: './p-*.csv' });
    write('p-1.csv', 'Tuesday', 20_001, ['A1']);
    write('p-2.csv', 'Tuesday', 20_005, ['A2']);
    expect((await run('sync')).stderr).toBe('');
    write('p-1.csv', 'Monday', 20_000, ['A1']);
    const said =
      /p-1\.csv was modified at 2024-10-04 00:00:00 UTC, and the p-1\.csv that was read before at 2024-10-05 00:00:00 UTC, which is later\. Its rows count now/;
    for (const _ of ['first', 'second']) {
      const { exitCode, stderr } = await run('sync');
      expect(exitCode).toBe(0);
      expect(stderr).toMatch(said);
      expect((await run('status', '--json')).json()).toMatchObject({ warnings: [expect.stringMatching(said)] });
    }
    expect(new Set(names())).toEqual(new Set(['Monday', 'Tuesday']));
    write('p-1.csv', 'Wednesday', 20_002, ['A1']);
    expect((await run('sync')).stderr).toBe('');
  });

  it('an older export that lacks records is accepted once, with what it lacks', async () => {
    await begin();
    const keys = Array.from({ length: 40 }, (_, at) => `A${at}`);
    write('p.csv', 'Monday', 20_001, keys);
    await run('sync');
    write('p.csv', 'Monday', 20_000, keys.slice(0, 10));
    const { guarded } = (await run('sync', '--json')).json() as { guarded: object[] };
    expect(guarded).toMatchObject([{ missing: 30, read: 10, isOlder: true }]);
    const { exitCode, stdout } = await run('sync', '--accept', 'erp');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('an export that is older than the one that was read before, and lacks 30 records.');
    expect(stdout).not.toContain('The guard holds');
    expect((await run('status', '--json')).json()).toMatchObject({ guarded: [] });
  });

  it('a still older file than the accepted one is held again', async () => {
    await begin();
    write('p.csv', 'Tuesday', 20_005);
    await run('sync');
    write('p.csv', 'Monday', 20_003);
    await run('sync');
    const db = new Database(join(world.folder, 'data/ledger.db'));
    db.prepare('UPDATE older_exports SET accepted_at = 1').run();
    db.close();
    write('p.csv', 'Sunday', 20_002);
    expect((await run('sync')).exitCode).toBe(4);
    expect(names()).toEqual(['Tuesday', 'Tuesday']);
  });

  it('a time in the future counts as the present time, and the run says so', async () => {
    await begin();
    const today = Math.floor(Date.now() / 86_400_000);
    write('p.csv', 'Tuesday', today + 400);
    const { exitCode, stderr } = await run('sync');
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/p\.csv was modified at \S+ \S+ UTC, which is in the future\. It counts as modified at/);
    world.write('p.csv', 'sku,name\nA1,Wednesday\nA2,Wednesday\n');
    expect((await run('sync')).exitCode).toBe(0);
    write('p.csv', 'Monday', today - 1);
    expect((await run('sync')).exitCode).toBe(4);
    expect(names()).toEqual(['Wednesday', 'Wednesday']);
  });

  it('a time in the future that a former version has stored holds nothing', async () => {
    await begin();
    write('p.csv', 'Tuesday', 20_001);
    await run('sync');
    const db = new Database(join(world.folder, 'data/ledger.db'));
    db.prepare('UPDATE streams SET read_as_of = ?').run(Date.now() + 86_400_000);
    db.close();
    write('p.csv', 'Wednesday', 20_002);
    expect((await run('sync')).exitCode).toBe(0);
    write('p.csv', 'Monday', 20_000);
    expect((await run('sync')).exitCode).toBe(4);
  });

  it('an older file of changes is read with a warning', async () => {
    await begin({ path: './p-*.csv', contents: 'changes' });
    write('p-2.csv', 'Tuesday', 20_001);
    await run('sync');
    write('p-1.csv', 'Monday', 20_000);
    const { exitCode, stderr } = await run('sync');
    expect(exitCode).toBe(0);
    const older = /p-1\.csv is older than \S+p-2\.csv, which was read before\. Its changes apply now/;
    expect(stderr).toMatch(older);
    expect((await run('status', '--json')).json()).toMatchObject({ warnings: [expect.stringMatching(older)] });
    expect((await run('sync')).stderr).toBe('');
  });

  it('an older file is first held by the second read where an older version has stored no time', async () => {
    await begin();
    write('p.csv', 'Tuesday', 20_001);
    await run('sync');
    const db = new Database(join(world.folder, 'data/ledger.db'));
    db.exec('UPDATE streams SET read_as_of = NULL');
    db.close();
    write('p.csv', 'Monday', 20_000);
    expect((await run('sync')).exitCode).toBe(0);
    write('p.csv', 'Sunday', 19_999);
    expect((await run('sync')).exitCode).toBe(4);
  });
});

describe('an export that waits for its semaphore', () => {
  const SAID = 'p.csv is not read yet: its semaphore p.csv.done is older than the file.';

  function writeSemaphore(day: number): void {
    world.write('p.csv.done', '');
    utimesSync(join(world.folder, 'p.csv.done'), day * 86_400, day * 86_400);
  }

  it.each([
    { identified: 'by a column', key: ['sku'] },
    { identified: 'by a mapping', key: undefined },
  ])(
    'sync, status and their documents say so until the file is read, with rows identified $identified',
    async ({ key }) => {
      await begin({ path: './p.csv', done: '.done', key });
      write('p.csv', 'Monday', 20_000);
      writeSemaphore(20_000);
      await run('sync');
      write('p.csv', 'Tuesday', 20_001);
      const { exitCode, stdout, stderr } = await run('sync');
      expect(exitCode).toBe(0);
      expect(stderr).toContain(SAID);
      for (const text of [stdout, (await run('status')).stdout]) {
        expect(text.replaceAll(/\s+/g, ' ')).toMatch(/warning: erp\/default: \S+p\.csv is not read yet/);
      }
      for (const command of ['sync', 'status']) {
        const { warnings } = (await run(command, '--json')).json() as { warnings: string[] };
        expect(warnings).toEqual([expect.stringContaining(SAID)]);
      }
      expect(JSON.stringify((await run('check', '--json')).json())).toContain(SAID);
      writeSemaphore(20_001);
      await run('sync');
      expect((await run('status', '--json')).json()).toMatchObject({ warnings: [] });
      expect(names()).toEqual(['Tuesday', 'Tuesday']);
    },
  );

  it('it is said too before the first read, and the error names the semaphore', async () => {
    await begin({ path: './*.csv', files: 'latest', done: '.done' });
    write('p.csv', 'Monday', 20_001);
    writeSemaphore(20_000);
    const { exitCode, stdout, stderr } = await run('sync');
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(SAID);
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/warning: erp\/default: \S*p\.csv is not read yet/);
    for (const command of ['sync', 'status']) {
      const { warnings } = (await run(command, '--json')).json() as { warnings: string[] };
      expect(warnings).toEqual([expect.stringContaining(SAID)]);
    }
    const { error } = (await run('sync', '--json')).json() as { error: { message: string } };
    expect(error.message).toContain(SAID);
    expect((await run('sync')).stdout).not.toContain('Write a complete export first');
  });
});
