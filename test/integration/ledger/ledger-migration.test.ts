import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Profile } from '../../../src/domain/profile.ts';
import { backUpLedger } from '../../../src/ledger/backup/backup.ts';
import { restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { openLedgerViews } from '../../../src/ledger/read-ledger.ts';
import { openDatabase } from '../../../src/ledger/store/database.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { alone } from '../../support/ledger/deliveries.ts';
import { FORMS, NO_PASSPORTS, openLedger, TARGET } from '../../support/ledger/ledger.ts';
import { createOldLedger, oldHash } from '../../support/ledger/old-ledger.ts';
import { fillOldLedger } from '../../support/ledger/old-ledger-cases.ts';

let folder: string;
let file: string;
/** The messages of the upgrade of a ledger. */
let reported: string[];
const report = (_fields: object, message: string) => void reported.push(message);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-migration-'));
  file = join(folder, 'ledger.db');
  reported = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

function makeOldLedger(): void {
  const old = createOldLedger(file);
  fillOldLedger(old);
  old.close();
}

function bringUpToDate(): void {
  openDatabase(file, { report }).close();
}

type Row = Record<string, unknown>;

/** Reads from a file without any code under test. */
function rows(sql: string, from = file): Row[] {
  const db = new Database(from, { readonly: true });
  try {
    return db.prepare<[], Row>(sql).all();
  } finally {
    db.close();
  }
}

/** Everything that an older ledger holds. */
function contentOf(from: string): Row[][] {
  const names = [
    'items',
    'deliveries',
    'imports',
    'events',
    'refs',
    'claims',
    'holds',
    'records',
    'listings',
    'contacts',
  ];
  const meta = "SELECT * FROM meta WHERE name <> 'backup_at' ORDER BY name";
  return [...names.map((name) => rows(`SELECT * FROM ${name} ORDER BY 1, 2`, from)), rows(meta, from)];
}

function backups(): string[] {
  return readdirSync(folder)
    .filter((name) => name.includes('backup'))
    .map((name) => join(folder, name));
}

function item(key: string, kind = 'product'): Row {
  return rows(`SELECT * FROM items WHERE kind = '${kind}' AND key = '${key}'`)[0] ?? {};
}

const soundness = () => verifyLedger(file, () => {})?.findings;

describe('an older ledger that is brought up to date', () => {
  beforeEach(() => {
    makeOldLedger();
    bringUpToDate();
  });

  it('an upgraded ledger is sound', () => {
    expect(soundness()).toEqual([]);
  });

  it('an upgraded ledger keeps each item under its number, with its owner, its remote id and all marks', () => {
    const columns = `id, kind, key, natural_key, record_id, source, appeared_at, desired, desired_hash, remote_id, missing_since,
      missing_accepted, was_absent, adopted, parts_unknown, ignored_hash`;
    const before = rows(`SELECT ${columns}, stirred AS dirty FROM items ORDER BY id`, backups()[0]);
    expect(rows(`SELECT ${columns}, dirty FROM items ORDER BY id`)).toEqual(before);
    expect(before.length).toBeGreaterThan(35);
  });

  it('an upgraded ledger keeps the latest delivery of each item as it was', () => {
    const columns = [
      'state',
      'operation',
      'group_max',
      'due_at',
      'attempts',
      'uncertain',
      'by_hand',
      'staged_at',
      'sent_at',
      'settled_at',
      'reason',
    ];
    const of = (table: string) => columns.map((name) => `${table}.${name}`).join(', ');
    const shaped = of('items').replace('items.reason', "json_remove(items.reason, '$.shape') AS reason");
    const before = rows(
      `SELECT i.kind, i.key, d.revision, ${of('d')} FROM items i JOIN deliveries d ON d.item_id = i.id AND d.revision = i.revision ORDER BY i.id`,
      backups()[0],
    );
    expect(rows(`SELECT kind, key, revision, ${shaped} FROM items WHERE state IS NOT NULL ORDER BY id`)).toEqual(
      before,
    );
  });

  it('an upgraded ledger keeps the earlier revisions as history, with the gaps that they had', () => {
    const columns = 'revision, operation, state, desired_hash, attempts, staged_at, sent_at, settled_at, reason';
    const before = rows(
      `SELECT item_id, ${columns} FROM deliveries d WHERE revision < (SELECT revision FROM items WHERE id = d.item_id) ORDER BY 1, 2`,
      backups()[0],
    );
    expect(rows(`SELECT item_id, ${columns} FROM history ORDER BY 1, 2`)).toEqual(before);
    const ofLongLived =
      "SELECT revision FROM history WHERE item_id = (SELECT id FROM items WHERE key = 'long-lived' AND kind = 'product')";
    expect(rows(ofLongLived).map(({ revision }) => revision)).toEqual([6, 7, 9]);
    expect(item('long-lived')['revision']).toBe(25);
  });

  it('an upgraded ledger distinguishes what the API has acknowledged from what it has not', () => {
    expect(item('due')).toMatchObject({ acknowledged: 0, baseline: null, baseline_hash: null });
    expect(item('delivered')).toMatchObject({
      acknowledged: 1,
      baseline: null,
      baseline_hash: null,
      state: 'delivered',
    });
    expect(item('changed-back')).toMatchObject({ acknowledged: 1, baseline: null, state: 'superseded' });
    expect(item('written-blind')).toMatchObject({
      acknowledged: 2,
      baseline: '{"sku":"SKU-written-blind"}',
      baseline_hash: 'presence',
    });
    expect(item('adopted')).toMatchObject({
      acknowledged: 2,
      baseline: '{"name":"adopted before","sku":"SKU-adopted"}',
      adopted: 1,
    });
    expect(item('line-present', 'bom_item')).toMatchObject({
      acknowledged: 1,
      revision: 0,
      state: null,
      remote_id: 'null',
    });
    expect(item('delivered', 'passport')).toMatchObject({
      acknowledged: 2,
      baseline: '{"status":"published"}',
      dirty: 1,
    });
    expect(item('adopted', 'passport')).toMatchObject({ acknowledged: 2, revision: 0, state: null });
    expect(item('long-lived', 'passport')).toMatchObject({ acknowledged: 0, state: 'due', operation: 'passport.init' });
  });

  it('an upgraded ledger keeps what an open delivery asks for where its item has changed since', () => {
    for (const [key, name] of [
      ['moved-on', 'before'],
      ['not-upserted', 'between'],
      ['imp-doubt-b', 'sent'],
      ['imp-due-b', 'sent'],
    ] as const) {
      const sent = { name: `${key} ${name}`, sku: `SKU-${key}` };
      expect(item(key)).toMatchObject({ sent: JSON.stringify(sent), sent_hash: oldHash('product', sent) });
      expect(item(key)['desired']).toContain('now');
    }
    expect(item('changed-back')).toMatchObject({
      sent: null,
      sent_hash: oldHash('product', { name: 'changed-back else', sku: 'SKU-changed-back' }),
    });
    expect(rows("SELECT * FROM items WHERE kind = 'passport' AND (sent IS NOT NULL OR sent_hash IS NOT NULL)")).toEqual(
      [],
    );
  });

  it('an upgraded ledger keeps key, path and bytes of each request that may be sent again, and no others (I2)', () => {
    const of = `i.kind || ' ' || i.key AS item, idempotency_key, path, body`;
    const alone = rows(
      `SELECT ${of} FROM deliveries d JOIN items i ON i.id = d.item_id WHERE path IS NOT NULL
       AND i.key NOT IN ('gate', 'refused', 'parked') ORDER BY d.id`,
      backups()[0],
    );
    const kept = rows(
      `SELECT ${of}, r.operation, sends FROM items i JOIN requests r ON r.id = i.request_id ORDER BY i.id`,
    );
    expect(kept.filter(({ operation }) => operation !== 'product.import')).toEqual(
      alone.map((row) => expect.objectContaining({ ...row, sends: 1 })),
    );
    expect(alone.map((row) => row['item'])).toEqual([
      'product throttled',
      'product uncertain',
      'product sending',
      'product readable',
      'product moved-on',
      'product sought',
      'material patched',
      'bom_item line-doubt',
      'passport changed-back',
      'passport withdrawn',
    ]);
    expect(rows('SELECT count(*) AS n FROM requests')).toEqual([{ n: alone.length + 3 }]);
  });

  it('an upgraded ledger keeps imports with their members in the places of their bodies', () => {
    const members = `SELECT r.idempotency_key AS key, r.path, r.body, r.sends, i.key AS member, i.request_place AS place
      FROM requests r JOIN items i ON i.request_id = r.id WHERE r.operation = 'product.import' ORDER BY r.id, place`;
    const before = rows(
      `SELECT m.idempotency_key AS key, m.path, m.body, m.sends, i.key AS member, d.import_place AS place FROM imports m
       JOIN deliveries d ON d.import_id = m.id JOIN items i ON i.id = d.item_id ORDER BY m.id, place`,
      backups()[0],
    );
    expect(rows(members)).toEqual(before);
    expect(before).toHaveLength(6);
  });

  it('an upgraded ledger keeps the events, under their present names and with the revision that they are about', () => {
    const [readable, longLived] = [item('readable')['id'], item('long-lived')['id']];
    expect(rows('SELECT item_id, revision, at, type, detail IS NULL AS bare FROM events ORDER BY id')).toEqual([
      { item_id: readable, revision: 1, at: 1650, type: 'unconfirmed', bare: 0 },
      { item_id: readable, revision: null, at: 1650, type: 'id_left', bare: 1 },
      { item_id: longLived, revision: 9, at: 1650, type: 'retry', bare: 0 },
      { item_id: longLived, revision: null, at: 1650, type: 'unconfirmed', bare: 0 },
    ]);
  });

  it('an upgraded ledger never gives a number again that was given before, because keys are made of it', () => {
    const sequences = Object.fromEntries(
      rows('SELECT name, seq FROM sqlite_sequence').map(({ name, seq }) => [name, seq]),
    );
    const highest = Number(rows('SELECT max(id) AS highest FROM requests')[0]?.['highest']);
    expect(sequences).toMatchObject({ items: 500, events: 5, requests: highest });
    expect(highest).toBeGreaterThan(90);
  });

  it('an upgraded ledger keeps contenders, holds, lists and the look-ups that a restored ledger has to do', () => {
    const [before = ''] = backups();
    expect(rows('SELECT * FROM contenders')).toEqual(rows('SELECT * FROM claims', before));
    expect(rows('SELECT * FROM holds')).toEqual(rows('SELECT * FROM holds', before));
    const refs = 'SELECT item_id, role, kind, key FROM refs ORDER BY item_id, role';
    expect(rows(refs)).toEqual(rows(refs, before));
    expect(rows("SELECT read_at, matched_to FROM listings WHERE kind = 'product'")).toEqual([
      { read_at: 1300, matched_to: 0 },
    ]);
    expect(
      rows("SELECT name, value FROM meta WHERE name IN ('restored_at', 'unproven:product', 'epoch') ORDER BY 1"),
    ).toEqual(
      rows(
        "SELECT name, value FROM meta WHERE name IN ('restored_at', 'unproven:product', 'epoch') ORDER BY 1",
        before,
      ),
    );
  });

  it('an upgraded ledger has the tables of a new ledger, and none besides', () => {
    const other = join(folder, 'new.db');
    openDatabase(other).close();
    const tables = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name <> 'sqlite_stat1' ORDER BY name";
    expect(rows(tables)).toEqual(rows(tables, other));
  });

  it('an upgraded ledger removes the rows of an item with the item', () => {
    const db = openDatabase(file);
    db.prepare("DELETE FROM items WHERE key = 'long-lived'").run();
    for (const table of ['history', 'events', 'refs']) {
      expect(
        db.prepare(`SELECT count(*) FROM ${table} WHERE item_id NOT IN (SELECT id FROM items)`).pluck().get(),
      ).toBe(0);
    }
    db.close();
  });
});

describe('the backup before an upgrade', () => {
  it('the backup before an upgrade has the ledger as it was, is marked as a backup, and only its owner can read it', () => {
    makeOldLedger();
    const before = contentOf(file);
    bringUpToDate();
    const [backup = '', ...others] = backups();
    expect(others).toEqual([]);
    expect(contentOf(backup)).toEqual(before);
    expect(rows("SELECT value FROM meta WHERE name = 'backup_at'", backup)).toHaveLength(1);
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect(reported.join('\n')).toContain(backup);
    expect(existsSync(`${backup}-wal`)).toBe(false);
  });

  it('a backup before an upgrade is not made for a new or an empty ledger, nor a second time', () => {
    openDatabase(file, { report }).close();
    bringUpToDate();
    expect(backups()).toEqual([]);
    const empty = createOldLedger(join(folder, 'empty.db'));
    empty.db.exec('DELETE FROM streams');
    empty.close();
    openDatabase(join(folder, 'empty.db'), { report }).close();
    expect([backups(), reported]).toEqual([[], []]);
  });

  it('the backup before an upgrade is used again by an upgrade that was interrupted after it', () => {
    makeOldLedger();
    interruptAfterBackup();
    const made = backups();
    expect(made).toHaveLength(1);
    bringUpToDate();
    expect(backups()).toEqual(made);
    expect(reported.join('\n')).toContain(`The interrupted upgrade has made a backup of the ledger: ${made[0]}`);
  });

  it('the backup before an upgrade is made once where a reading process keeps a part of the ledger in the log', () => {
    makeOldLedger();
    const reader = new Database(file, { readonly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM items').get();
    const write = (sql: string) => {
      const writer = new Database(file);
      writer.exec(sql);
      writer.close();
    };
    write("UPDATE meta SET value = '8' WHERE name = 'generation'");
    for (let attempt = 0; attempt < 2; attempt += 1) interruptAfterBackup();
    const made = backups();
    expect(made).toHaveLength(1);
    expect(contentOf(made[0] ?? '')).toEqual(contentOf(file));
    // The later writes of the older version are only in the log, and the time of the file does not change.
    write('DELETE FROM events WHERE id = (SELECT max(id) FROM events)');
    const before = contentOf(file);
    interruptAfterBackup();
    reader.close();
    bringUpToDate();
    expect(backups()).toHaveLength(2);
    expect(backups().map(contentOf)).toContainEqual(before);
  });

  it('the backup before an upgrade is made again of a ledger that the older version has written to since', () => {
    makeOldLedger();
    interruptAfterBackup();
    const [made = ''] = backups();
    const { atime, mtime } = statSync(file);
    const db = new Database(file);
    db.exec("UPDATE meta SET value = '8' WHERE name = 'generation'; DELETE FROM events");
    db.close();
    // Even where the time of the file says otherwise.
    utimesSync(file, atime, mtime);
    const before = contentOf(file);
    bringUpToDate();
    expect(backups().map(contentOf)).toContainEqual(before);
    expect(backups()).toHaveLength(2);
    expect(rows('SELECT * FROM events', made)).toHaveLength(4);
  });

  /** Ends an upgrade between its backup and its commit. */
  function interruptAfterBackup(): void {
    const stop = (_fields: object, message: string) => {
      if (message.includes('backup')) throw new Error('interrupted');
    };
    expect(() => openDatabase(file, { report: stop })).toThrow('interrupted');
    expect(rows('SELECT * FROM deliveries').length).toBeGreaterThan(0);
  }
});

describe('a ledger of each older version', () => {
  for (const version of [1, 2, 3, 4]) {
    it(`a ledger of version ${version} is upgraded, and its due create is sent under its key`, async () => {
      const old = createOldLedger(file, version);
      old.item({ kind: 'product', key: 'one', desired: { sku: 'SKU-one' } }, [
        { operation: 'product.create', state: 'due' },
      ]);
      old.close();
      const [{ idempotency_key: key } = {}] = rows('SELECT idempotency_key FROM deliveries');
      const ledger = openLedger(file, { report });
      const [due] = await ledger.dueDeliveries({ afterId: 0, limit: 10 });
      const [claimed] = await ledger.claim([alone([due ?? { id: 0, revision: 0 }])]);
      expect(claimed?.idempotencyKey).toBe(key);
      await ledger.close();
      expect(soundness()).toEqual([]);
    });
  }

  it('an older ledger is not read before its upgrade, and the reader says how to upgrade it', () => {
    createOldLedger(file, 1).close();
    const look = (): unknown => openLedgerViews({ file, passportRules: NO_PASSPORTS, forms: FORMS });
    expect(look).toThrow(expect.objectContaining({ code: 'ledger.older', exitCode: 3 }));
  });

  it('an upgraded ledger keeps what the guard held last', async () => {
    const old = createOldLedger(file, 1);
    old.db.exec(`
      INSERT INTO streams (id, source, name, mapping_revision) VALUES (2, 'erp', 'boms', 'r');
      INSERT INTO runs (id, source, cause, started_at, ended_at, result) VALUES (2, 'erp', 'cli', 2000, 2001, 'complete');
      INSERT INTO run_streams (run_id, stream_id, read, missing, guarded) VALUES
        (1, 2, 1, 9, 'Nine are missing.'), (2, 1, 3, 7, 'Seven are missing.'), (2, 2, 10, 0, NULL);`);
    old.close();
    const ledger = openLedger(file);
    expect(ledger.views.guardedReads()).toEqual([
      {
        source: 'erp',
        stream: 'default',
        runId: 2,
        since: 2000,
        missing: 7,
        creates: 0,
        read: 3,
        released: 0,
        gone: [],
        isLeft: false,
        isOlder: false,
        message: 'Seven are missing.',
      },
    ]);
    await ledger.close();
    expect(soundness()).toEqual([]);
  });
});

describe('a backup of an older version', () => {
  let backup: string;
  let before: Row[][];
  beforeEach(() => {
    makeOldLedger();
    backup = join(folder, 'older.db');
    const { items } = backUpLedger({ file, to: backup, force: false, now: 0, onStep: () => {} });
    expect(items.material).toEqual({ delivered: 1, due: 2 });
    before = contentOf(backup);
  });

  it('a backup of an older version is checked without being changed, and its damage is found', () => {
    expect(verifyLedger(backup, () => {})).toMatchObject({ findings: [], backupAt: '1970-01-01T00:00:00.000Z' });
    expect(contentOf(backup)).toEqual(before);
    const db = new Database(backup);
    db.exec("UPDATE deliveries SET uncertain = 0 WHERE state = 'in_doubt'");
    db.close();
    expect(verifyLedger(backup, () => {})?.findings.map(({ check }) => check)).toEqual(['delivery.doubt']);
  });

  it('a backup of an older version is restored as a copy, and stays as it is', () => {
    bringUpToDate();
    const made = backups().length;
    const profile = Profile.parse({});
    const { kept } = restoreLedger({ file, from: backup, target: TARGET, profile, clock: systemClock, report });
    expect(kept).not.toBeNull();
    expect(contentOf(backup)).toEqual(before);
    expect(backups()).toHaveLength(made);
    expect(soundness()).toEqual([]);
    expect(rows("SELECT value FROM meta WHERE name = 'backup_at'")).toEqual([]);
  });

  it('a backup of an older version is copied before it is restored where it lies in the place of the ledger', () => {
    for (const name of readdirSync(folder).filter((one) => one !== 'older.db')) rmSync(join(folder, name));
    copyFileSync(backup, file);
    restoreLedger({ file, from: null, target: TARGET, profile: Profile.parse({}), clock: systemClock, report });
    expect(backups().map(contentOf)).toEqual([before]);
    expect(soundness()).toEqual([]);
  });

  it('a backup of an older version in the place of the ledger is refused before anything of it is changed', () => {
    copyFileSync(backup, file);
    expect(() => openLedger(file, { report })).toThrow(expect.objectContaining({ code: 'ledger.restored' }));
    expect(contentOf(file)).toEqual(before);
    expect([backups(), reported]).toEqual([[], []]);
  });
});

describe('an older ledger that is not sound', () => {
  it('an older ledger that is not sound is not changed where an open delivery would be lost', () => {
    makeOldLedger();
    const db = new Database(file);
    db.exec("UPDATE deliveries SET state = 'due', desired = '{}' WHERE revision = 9");
    db.close();
    const before = contentOf(file);
    expect(bringUpToDate).toThrow(
      expect.objectContaining({ code: 'ledger.unreadable', message: expect.stringContaining('1 open deliver') }),
    );
    expect(contentOf(file)).toEqual(before);
  });
});
