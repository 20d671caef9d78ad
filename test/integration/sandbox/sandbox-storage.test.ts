import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { Fault } from '../../../src/lib/errors.ts';
import { createSandbox } from '../../../src/sandbox/sandbox.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { startMortalSandbox } from '../../support/sandbox/mortal-sandbox.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { API_KEY } from '../../support/worlds/world.ts';

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => removeFolder(folder));
  return join(folder, 'sandbox.db');
}

test('the sandbox keeps data, keys, counts and idempotency records over a restart', async () => {
  const storage = temporaryFile();
  const first = await startSandbox({ storage, idempotency: 'honoured' });
  const headers = { 'idempotency-key': 'k-1' };
  const body = { sku: 'A', name: 'x' };
  const created = await first.call('POST', '/api/products/', { body, headers });
  const revoked = first.sandbox.issueKey({ organization: 'acme', name: 'old', scopes: ['read'] });
  first.sandbox.revokeKey(revoked.id);
  const before = first.sandbox.inspect();
  await first.sandbox.close();

  const second = await startSandbox({ storage, idempotency: 'honoured' });
  const after = second.sandbox.inspect();
  expect(after.organizations).toEqual(before.organizations);
  expect(after.writes).toEqual(before.writes);
  expect(after.requests).toEqual({});
  const replayed = await second.call('POST', '/api/products/', { body, headers, key: first.key });
  expect(replayed).toMatchObject({ body: created.body, headers: { 'idempotent-replayed': 'true' } });
  expect((await second.call('GET', '/api/products/', { key: revoked.key })).status).toBe(401);
  const next = await second.call('POST', '/api/products/', { body: { ...body, sku: 'B' }, key: first.key });
  expect(next.body.id).toBe(created.body.id + 1);
});

test('the sandbox keeps what it acknowledged when it is killed, and doubles nothing that is sent again', async () => {
  const mortal = await startMortalSandbox({ idempotency: 'honoured' });
  onTestFinished(() => mortal.stop());
  const acknowledged: string[] = [];
  const create = async (sku: string) => {
    const answer = await request(`${mortal.baseUrl}/api/products/`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', 'idempotency-key': sku },
      body: JSON.stringify({ sku, name: 'x' }),
    });
    await answer.body.dump();
    if (answer.statusCode === 201) acknowledged.push(sku);
  };
  const skus = Array.from({ length: 400 }, (_, index) => `SKU-${index}`);
  // The last half is sent in the moment of the kill, so that it cannot all be answered before, however slow this process is.
  const middle = skus.length / 2;
  await Promise.allSettled(
    skus.slice(0, middle).map(async (sku, index) => {
      await create(sku);
      if (index !== 100) return;
      await Promise.allSettled([...skus.slice(middle).map(create), mortal.kill()]);
    }),
  );
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(acknowledged.length).toBeLessThan(skus.length);
  const stored = async () => (await mortal.inspect()).organizations['acme']?.products.map(({ sku }) => sku) ?? [];
  expect(await stored()).toEqual(expect.arrayContaining(acknowledged));

  await mortal.restart();
  for (const sku of skus) await create(sku);
  expect(new Set(acknowledged)).toEqual(new Set(skus));
  const all = await stored();
  expect(all).toHaveLength(skus.length);
  expect(new Set(all)).toEqual(new Set(skus));
  expect((await mortal.inspect()).writes.every(({ count }) => count === 1)).toBe(true);
});

test('the sandbox takes the effect and its count back when the idempotency record cannot be stored', async () => {
  const storage = temporaryFile();
  const { call, sandbox } = await startSandbox({ storage, idempotency: 'honoured' });
  const vandal = new Database(storage);
  onTestFinished(() => void vandal.close());
  const duplicate = { body: { sku: 'A', name: 'x' }, headers: { 'idempotency-key': 'k-1' } };
  vandal.exec(`CREATE TRIGGER no_record BEFORE INSERT ON idempotency_record BEGIN SELECT raise(ABORT, 'full'); END`);
  expect((await call('POST', '/api/products/', duplicate)).status).toBe(500);
  const failed = sandbox.inspect();
  expect(failed.organizations.acme?.products).toEqual([]);
  expect(failed.writes).toEqual([]);
  vandal.exec('DROP TRIGGER no_record');
  const created = await call('POST', '/api/products/', duplicate);
  expect(created.status).toBe(201);
  expect(created.headers['idempotent-replayed']).toBeUndefined();
});

test('the sandbox stores no key in full', async () => {
  const storage = temporaryFile();
  const { key, sandbox } = await startSandbox({ storage });
  await sandbox.close();
  const bytes = readFileSync(storage).toString('latin1');
  expect(bytes).toContain(key.slice(0, 8));
  expect(bytes).not.toContain(key.slice(0, 12));
});

test('the sandbox refuses a file whose ids are of another kind, and says that it may be deleted', async () => {
  const storage = temporaryFile();
  const clock = createManualClock();
  await (await createSandbox({ storage }, { clock })).close();
  await expect(createSandbox({ storage, ids: 'uuid' }, { clock })).rejects.toMatchObject({
    message: expect.stringContaining('the ids in the file are numeric'),
    suggestion: expect.stringContaining('delete this one'),
  });
});

test('the sandbox leaves a file alone that is not its own, and never tells anybody to delete it', async () => {
  const clock = createManualClock();
  const foreign = (name: string, prepare: (database: Database.Database) => void): string => {
    const file = `${temporaryFile()}.${name}`;
    const database = new Database(file);
    prepare(database);
    database.close();
    return file;
  };
  const files = [
    foreign('ledger', (database) =>
      database.exec('PRAGMA journal_mode = WAL; CREATE TABLE item (id); PRAGMA user_version = 2'),
    ),
    foreign('other', (database) => database.pragma('application_id = 1')),
    import.meta.filename,
  ];
  for (const storage of files) {
    const before = readFileSync(storage);
    await expect(createSandbox({ storage }, { clock }), storage).rejects.toMatchObject({
      code: 'sandbox.storage',
      exitCode: 3,
      suggestion: expect.not.stringContaining('delete'),
    });
    expect(readFileSync(storage).equals(before), storage).toBe(true);
    expect(existsSync(`${storage}-wal`)).toBe(false);
  }
  for (const storage of ['/nowhere/at/all.db', tmpdir()]) {
    const refused = createSandbox({ storage }, { clock });
    await expect(refused).rejects.toBeInstanceOf(Fault);
    await expect(refused).rejects.toMatchObject({ suggestion: expect.not.stringContaining('delete') });
  }
});

test('the sandbox takes an empty file, and one of the time before sandboxes marked theirs', async () => {
  const storage = temporaryFile();
  writeFileSync(storage, '');
  const first = await startSandbox({ storage });
  await first.call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
  await first.sandbox.close();
  const unmarked = new Database(storage);
  expect(unmarked.pragma('application_id', { simple: true })).not.toBe(0);
  unmarked.pragma('application_id = 0');
  unmarked.close();
  const second = await startSandbox({ storage });
  expect((await second.call('GET', '/api/products/', { key: first.key })).body.count).toBe(1);
});

test('the sandbox lets no second sandbox on its file, by whatever name, until it is closed', async () => {
  const storage = temporaryFile();
  const alias = join(dirname(storage), 'alias.db');
  const clock = createManualClock();
  const first = await createSandbox({ storage }, { clock });
  symlinkSync(storage, alias);
  for (const name of [storage, alias]) {
    await expect(createSandbox({ storage: name }, { clock })).rejects.toMatchObject({
      code: 'sandbox.storage',
      message: `The sandbox cannot use ${name}: another sandbox uses this file.`,
      suggestion: 'Stop the other sandbox, or name another file.',
    });
  }
  await first.close();
  await (await createSandbox({ storage: alias }, { clock })).close();
});

test('the sandbox that cannot have its address says which', async () => {
  const { baseUrl } = await startSandbox();
  const other = await createSandbox({}, { clock: createManualClock() });
  onTestFinished(() => other.close());
  await expect(other.listen({ port: Number(new URL(baseUrl).port) })).rejects.toMatchObject({
    code: 'sandbox.listen',
    suggestion: 'Choose another port with `--port`; 0 takes a free one.',
    exitCode: 3,
  });
});

test('the sandbox refuses a setting that it does not know', async () => {
  await expect(
    createSandbox({ storage: ':memory:', speed: 1 } as object, { clock: createManualClock() }),
  ).rejects.toThrow('speed');
});

test('the sandbox lets nobody but its owner read its files, whatever the umask', async () => {
  const storage = temporaryFile();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const { call } = await startSandbox({ storage });
  await call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
  const files = readdirSync(dirname(storage)).sort();
  expect(files).toEqual(expect.arrayContaining(['sandbox.db', 'sandbox.db-shm', 'sandbox.db-wal', 'sandbox.db.lock']));
  for (const file of files) expect([file, statSync(join(dirname(storage), file)).mode & 0o777]).toEqual([file, 0o600]);
});
