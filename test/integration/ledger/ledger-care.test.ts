import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { putInPlace, restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { SOUND_CHECKS, verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { assertNotGone } from '../../../src/ledger/file/identity.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimDue, claimOne, deliverAll, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../../support/ledger/items.ts';
import { NO_PARTS, TARGET, useLedger } from '../../support/ledger/ledger.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';

const fixture = useLedger({ rules: NO_PARTS });

const quiet = () => {};
/** Delivered products, materials, BOM items and passports; one product changed since, one BOM item waiting. */
async function fill(): Promise<void> {
  const { ledger } = fixture;
  const rows = [row('1'), row('2'), row('900'), row('10'), row('11')];
  await pullAndMap(ledger, rows, ({ id }) => {
    const key = text(id);
    if (key === '900') return items(material(key));
    if (key === '10') return items(bomItem(key, '1', '900'));
    if (key === '11') return items(bomItem(key, '1', 'unknown'));
    return items(product(key));
  });
  await deliverAll(ledger);
  await ledger.askForPassports({ products: ['2'], status: 'published' });
  await deliverAll(ledger);
  await pullAndMap(ledger, [row('2', { changed: true }), row('1'), ...rows.slice(2)], () =>
    items(product('2', 'Changed')),
  );
}

const backup = (to: string, force = false) =>
  backUpLedger({ file: fixture.file, to, force, now: fixture.clock.now(), onStep: quiet });
const beside = (name: string) => join(dirname(fixture.file), name);

function change(file: string, sql: string): void {
  const db = new Database(file);
  db.pragma('foreign_keys = OFF');
  db.pragma('ignore_check_constraints = ON');
  db.exec(sql);
  db.close();
}

/** For each check: a statement that breaks its rule, and the other checks that notice the same damage. */
const DAMAGE: Record<string, { sql: string; also?: string[] }> = {
  'file.refs': { sql: "INSERT INTO events (item_id, at, type) VALUES (999, 1, 'x')" },
  'meta.identity': { sql: "DELETE FROM meta WHERE name = 'epoch'" },
  'states.known': { sql: "UPDATE records SET state = 'lost' WHERE key = 'k:1' OR id = 1" },
  'delivery.present': { sql: "UPDATE items SET staged_at = NULL WHERE state = 'waiting'" },
  'delivery.revision': {
    sql: `INSERT INTO history (item_id, revision, operation, state, desired_hash, attempts, staged_at)
      SELECT id, revision, operation, 'superseded', desired_hash, 0, 0 FROM items WHERE state = 'waiting'`,
  },
  'delivery.key': {
    sql: `INSERT INTO requests (operation, sends, claimed_at, idempotency_key, path) VALUES ('product.create', 1, 0, 'no key', '/');
      UPDATE items SET operation = 'product.create', request_id = last_insert_rowid() WHERE state = 'due'`,
  },
  'delivery.bytes': { sql: "UPDATE items SET state = 'sending' WHERE state = 'due'" },
  'delivery.payload': { sql: "UPDATE items SET sent = '{}' WHERE state = 'waiting'" },
  'delivery.doubt': { sql: "UPDATE items SET state = 'in_doubt' WHERE state = 'waiting'" },
  'delivery.waiting': { sql: "UPDATE refs SET key = '900' WHERE key = 'unknown'" },
  'item.baseline': { sql: "UPDATE items SET remote_id = NULL WHERE key = '10'" },
  'item.remote_id': {
    sql: `DROP INDEX items_by_remote_id; UPDATE items SET remote_id = (SELECT remote_id FROM items WHERE key = '1')
      WHERE kind = 'product' AND key = '2'`,
  },
  'item.adopted': { sql: "UPDATE items SET adopted = 1 WHERE key = '10'" },
  'item.difference': {
    sql: "UPDATE items SET acknowledged = 2, baseline = '{}', baseline_hash = 'other' WHERE key = '10'",
  },
  'item.ignored': { sql: "UPDATE items SET ignored_hash = 'other' WHERE key = '10'" },
  'passport.step': { sql: `UPDATE items SET desired = '{"status":"unpublished"}' WHERE kind = 'passport'` },
  'item.refs': { sql: "DELETE FROM refs WHERE role = 'material' AND key = '900'" },
  'item.owner': { sql: "UPDATE items SET record_id = 999 WHERE key = '900'" },
  'item.released': { sql: "UPDATE items SET record_id = NULL WHERE key = '11'" },
  'record.quarantine': { sql: "UPDATE records SET state = 'quarantined' WHERE id = 1" },
  'json.readable': { sql: "UPDATE streams SET cursor = '{'" },
  'import.members': { sql: "UPDATE items SET request_id = 5, request_place = 0 WHERE state = 'due'" },
};

describe('verify', () => {
  it('verify finds nothing in a ledger that its writer is using', async () => {
    expect(verifyLedger(fixture.file, quiet)?.findings).toEqual([]);
    await fill();
    expect(verifyLedger(fixture.file, quiet)).toMatchObject({ findings: [], checks: SOUND_CHECKS.length + 2 });
    await claimDue(fixture.ledger);
    expect(verifyLedger(fixture.file, quiet)?.findings).toEqual([]);
    await fixture.reopen();
    await fixture.ledger.recover(0);
    expect(verifyLedger(fixture.file, quiet)?.findings).toEqual([]);
  });

  it('verify finds each damage that is planted, and names it with examples', async () => {
    await fill();
    backup(beside('sound.db'));
    expect(Object.keys(DAMAGE).toSorted()).toEqual(['file.refs', ...SOUND_CHECKS.map(({ name }) => name)].toSorted());
    for (const [name, { sql, also = [] }] of Object.entries(DAMAGE)) {
      const file = beside('planted.db');
      copyFileSync(beside('sound.db'), file);
      change(file, sql);
      const findings = verifyLedger(file, quiet)?.findings ?? [];
      expect({ name, found: findings.map(({ check }) => check) }).toEqual({ name, found: [name, ...also] });
      expect(findings[0]?.examples[0]).toMatch(/\w/);
    }
  });

  it('verify finds pages and indexes that are not as SQLite wrote them', async () => {
    await fill();
    backup(beside('sound.db'));
    const db = new Database(beside('sound.db')).unsafeMode();
    db.exec(
      `PRAGMA writable_schema = ON;
       UPDATE sqlite_schema SET sql = 'CREATE INDEX items_by_record ON items (revision)' WHERE name = 'items_by_record'`,
    );
    db.close();
    expect(verifyLedger(beside('sound.db'), quiet)?.findings).toMatchObject([{ check: 'file.integrity' }]);
  });
});

describe('a backup', () => {
  it('a backup is one moment of the ledger beside a busy writer, which continues meanwhile', async () => {
    await fill();
    change(
      fixture.file,
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
       INSERT INTO events (item_id, at, type, detail) SELECT 1, i, 'x', hex(zeroblob(400)) FROM n`,
    );
    const stop = new SharedArrayBuffer(8);
    const told = new Int32Array(stop);
    const writer = new Worker(join(import.meta.dirname, 'busy-writer-child.ts'), {
      workerData: { file: fixture.file, stop },
    });
    await new Promise((resolve, reject) => writer.once('message', resolve).once('error', reject));
    const before = Atomics.load(told, 1);
    const { file, bytes, items: counts } = backup(beside('backup.db'));
    const after = Atomics.load(told, 1);
    const ended = new Promise((resolve) => writer.once('exit', resolve));
    Atomics.store(told, 0, 1);
    await ended;

    expect(after).toBeGreaterThan(before);
    expect(counts.product).toEqual({ delivered: 1, due: 1 });
    expect(statSync(file)).toMatchObject({ size: bytes });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(verifyLedger(file, quiet)).toMatchObject({ findings: [], backupAt: '2027-01-15T02:30:00.000Z' });
    const db = new Database(file, { readonly: true });
    const numbers = db.prepare("SELECT value FROM meta WHERE name IN ('left', 'right')").pluck().all();
    db.close();
    expect(numbers[0]).toBe(numbers[1]);
    expect(readdirSync(dirname(file)).filter((name) => name.includes('backup.db'))).toEqual(['backup.db']);
  });

  it('a backup replaces a file with force alone, and never the ledger', () => {
    writeFileSync(beside('backup.db'), 'mine');
    expect(() => backup(beside('backup.db'))).toThrow(/There is a file/);
    expect(readFileSync(beside('backup.db'), 'utf8')).toBe('mine');
    backup(beside('backup.db'), true);
    expect(verifyLedger(beside('backup.db'), quiet)?.findings).toEqual([]);
    for (const suffix of ['', '-wal', '.mark', '.lock']) {
      expect(() => backup(`${fixture.file}${suffix}`, true)).toThrow(/is the ledger itself/);
    }
    expect(() => backup(beside('nowhere/backup.db'))).toThrow(/cannot be made: no such file or folder \(ENOENT\)\.$/);
  });
});

describe('a ledger that was put back', () => {
  const reopens = () =>
    fixture.reopen().then(
      () => 'opened',
      (error: { code: string; suggestion: string }) => `${error.code}: ${error.suggestion}`,
    );
  const restore = (from: string | null) =>
    restoreLedger({ file: fixture.file, from, target: TARGET, profile: Profile.parse({}), clock: fixture.clock });
  const putBack = (from: string) => {
    for (const suffix of ['-wal', '-shm']) rmSync(`${fixture.file}${suffix}`, { force: true });
    copyFileSync(from, fixture.file);
  };
  /** Ends a test that left the ledger refused. */
  const recoverFixture = async () => {
    restore(null);
    expect(await reopens()).toBe('opened');
  };

  it('a ledger that was put back is recognised by its mark, however little was committed since the copy', async () => {
    await fixture.ledger.close();
    copyFileSync(fixture.file, beside('copy.db'));
    await fixture.reopen();
    await fixture.ledger.close();
    putBack(beside('copy.db'));
    expect(await reopens()).toMatch(/ledger\.restored: .*dpp-sync ledger restore/);
    await recoverFixture();

    // The same within one session, which ended without closing anything.
    await fixture.ledger.touch();
    backup(beside('session.db'));
    change(beside('session.db'), "DELETE FROM meta WHERE name = 'backup_at'");
    await fixture.ledger.touch();
    const markThen = readFileSync(`${fixture.file}.mark`);
    await fixture.ledger.close();
    writeFileSync(`${fixture.file}.mark`, markThen);
    putBack(beside('session.db'));
    expect(await reopens()).toMatch(/ledger\.restored/);
    await recoverFixture();
  });

  it('a ledger that was put back is recognised as a backup where no mark is beside it', async () => {
    backup(beside('backup.db'));
    await fixture.ledger.close();
    putBack(beside('backup.db'));
    rmSync(`${fixture.file}.mark`);
    expect(await reopens()).toMatch(/ledger\.restored/);
    await recoverFixture();
    expect(await reopens()).toBe('opened');
  });

  it('a ledger that only crashed is never taken for one that was put back, whatever its mark is like', async () => {
    const mark = `${fixture.file}.mark`;
    const atOpen = readFileSync(mark);
    await fixture.ledger.touch();
    expect(readFileSync(mark)).not.toEqual(atOpen);
    await fixture.ledger.close();
    for (const left of [
      atOpen,
      Buffer.alloc(0),
      readFileSync(mark).subarray(0, 40),
      Buffer.from('other 0000000000000009 x\n'),
    ]) {
      writeFileSync(mark, left);
      expect(await reopens()).toBe('opened');
      await fixture.ledger.close();
    }
    rmSync(mark);
    expect(await reopens()).toBe('opened');
    expect(existsSync(mark)).toBe(true);
  });

  it('a ledger that is empty or gone is missed, and the message names its mark, by whatever link the ledger is reached', async () => {
    await fixture.ledger.close();
    writeFileSync(fixture.file, '');
    mkdirSync(beside('linked'));
    symlinkSync(join('..', basename(fixture.file)), beside('linked/link.db'));
    const suggestion = expect.stringContaining(`remove ${realpathSync(fixture.file)}.mark:`);
    const missed = expect.objectContaining({ code: 'ledger.restored', suggestion });
    expect(() => assertNotGone(beside('linked/link.db'))).toThrow(missed);
    rmSync(fixture.file);
    expect(() => assertNotGone(beside('linked/link.db'))).toThrow(missed);
    expect(() => backup(beside('backup.db'))).toThrow(missed);
    expect(() => verifyLedger(beside('linked/link.db'), quiet)).toThrow(missed);
  });

  it('a ledger that is restored keeps the former one beside it, and has a greater high water than it', async () => {
    backup(beside('backup.db'));
    for (let n = 0; n < 5; n += 1) await fixture.ledger.touch();
    await fixture.ledger.close();
    const { kept } = restore(beside('backup.db'));
    expect(await reopens()).toBe('opened');
    await fixture.ledger.close();
    // The former ledger is put back. It does not know the writes that follow.
    putBack(kept ?? '');
    expect(await reopens()).toMatch(/ledger\.restored/);
    await recoverFixture();
  });

  it(
    'a restored ledger gives no write an idempotency key that it may have had since the backup',
    covers('ledger-restored', 'I2'),
    async () => {
      const keyOfNext = async () => {
        await pullAndMap(fixture.ledger, [row('1')], () => items(product('1')));
        fixture.clock.advance(1);
        const [unconfirmed] = await fixture.ledger.unconfirmedDeliveries({ limit: 1 });
        const [due] = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 1 });
        const reason: Reason = { code: 'restored', message: 'absent' };
        const absent = { kind: 'resend', dueAt: 0, absent: true, reason } as const;
        if (unconfirmed) await settleOne(fixture.ledger, { id: unconfirmed.id, decision: absent });
        const claim = await claimOne(fixture.ledger, unconfirmed?.id ?? due?.id ?? 0);
        return { revision: claim?.revision, key: claim?.idempotencyKey };
      };
      backup(beside('backup.db'));
      const lost = await keyOfNext();
      await fixture.ledger.close();
      restore(beside('backup.db'));
      expect(await reopens()).toBe('opened');
      const now = await keyOfNext();
      expect(now.revision).toBe(lost.revision);
      expect(now.key).not.toBe(lost.key);
    },
  );

  it('a ledger is not restored while it is locked, from another target, or from a damaged file or no ledger', async () => {
    backup(beside('backup.db'));
    expect(() => restore(beside('backup.db'))).toThrow(/in use by/);
    await fixture.ledger.close();
    const before = readFileSync(fixture.file);
    writeFileSync(beside('text.db'), 'this is no database, and longer than its header would be. '.repeat(9));
    expect(() => restore(beside('text.db'))).toThrow(/is not a ledger/);
    expect(() => restore(beside('nothing.db'))).toThrow(/is not a ledger/);
    change(beside('backup.db'), "UPDATE meta SET value = 'https://elsewhere.example.com' WHERE name = 'target'");
    expect(() => restore(beside('backup.db'))).toThrow(/belongs to https:\/\/elsewhere/);
    expect(readFileSync(fixture.file)).toEqual(before);
    expect(await reopens()).toBe('opened');
  });

  it('a backup removes what a killed attempt has left, and is not damaged by its journal', () => {
    const left = ['.backup.db.part', '.backup.db.part-journal'];
    for (const name of left) writeFileSync(beside(name), 'half of a file');
    backup(beside('backup.db'));
    expect(readdirSync(beside('.')).filter((name) => name.includes('.part'))).toEqual([]);
  });

  it('a restore leaves no half of a copy behind where the copy cannot be put in place', async () => {
    backup(beside('backup.db'));
    await fixture.ledger.close();
    const keepAs = beside('no-such-folder/former.db');
    expect(() => putInPlace(beside('backup.db'), { place: fixture.file, keepAs, now: 0 })).toThrow(/ENOENT/);
    expect(readdirSync(beside('.')).filter((name) => name.includes('.part'))).toEqual([]);
    expect(await reopens()).toBe('opened');
  });
});
