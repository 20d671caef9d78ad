// Makes ledgers of older versions with the SQL of these versions.

import Database from 'better-sqlite3';
import { idempotencyKey } from '../../../src/domain/delivery/delivery.ts';
import { type Operation } from '../../../src/domain/delivery/operation.ts';
import { type ItemRef, itemHash, type SubjectKind } from '../../../src/domain/item.ts';
import { MIGRATIONS } from '../../../src/ledger/upgrade/steps/first-migrations.ts';
import { dropViews } from '../../../src/ledger/upgrade/views-for-people.ts';
import { canonicalJson } from '../../../src/lib/canonical-json.ts';
import { sha256Url } from '../../../src/lib/hash.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import { TARGET } from './ledger.ts';

/** The last version in which deliveries had separate rows. */
export const OLD_VERSION: number = MIGRATIONS.length;
const BEFORE_PEOPLE = MIGRATIONS.length + 5;
const BEFORE_WIRE_FORMS = MIGRATIONS.length + 9;
const BEFORE_UNPROVEN = MIGRATIONS.length + 10;
const BEFORE_PLAIN_KEYS = MIGRATIONS.length + 11;
const BEFORE_IDENTITIES = MIGRATIONS.length + 12;
const BEFORE_TIMES = MIGRATIONS.length + 13;
const BEFORE_LOST_RECORDS = MIGRATIONS.length + 14;
const BEFORE_WARNINGS = MIGRATIONS.length + 15;
const BEFORE_STATES_OF_MISSING_ITEMS = MIGRATIONS.length + 16;
const OLD_EPOCH = 'd2a9f3c0-1111-4222-8333-444455556666';

type Value = string | number | null;
export type Columns = Record<string, Value>;

export interface OldItem {
  kind: SubjectKind;
  key: string;
  /** The desired payload, or the desired status of a passport. */
  desired: JsonObject;
  /** The payload that the API has acknowledged, if there is one. */
  baseline?: JsonObject;
  /** The hash of the baseline, if it differs from the hash of the whole content. */
  baselineHash?: string;
  remoteId?: JsonValue;
  refs?: ItemRef[];
  /** The number of revisions. By default it is that of the latest delivery. */
  revision?: number;
  columns?: Columns;
}

export interface OldDelivery {
  operation: Operation;
  state: string;
  revision?: number;
  /**
   * The payload that the delivery sends, if it differs from the desired payload. For a passport it is the status after
   * the write.
   */
  desired?: JsonObject;
  columns?: Columns;
}

/** Writes rows of an older version. */
export interface OldLedger {
  db: Database.Database;
  item(item: OldItem, deliveries?: readonly OldDelivery[]): number;
  insert(table: string, columns: Columns): number;
  close(): void;
}

/** Columns of a delivery that was sent, and whose bytes may be sent again. */
export function sentBytes(name: string): Columns {
  return { path: `/sent/${name}/`, body: `{"sent":"${name}"}`, sent_at: 1500, attempts: 1 };
}

/** Begins a ledger of an older version, with one source that was read once. */
export function createOldLedger(file: string, version: number = OLD_VERSION): OldLedger {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  for (const sql of MIGRATIONS.slice(0, version)) db.exec(sql);
  db.pragma(`user_version = ${version}`);

  function insert(table: string, columns: Columns): number {
    const names = Object.keys(columns);
    const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`;
    return Number(db.prepare(sql).run(columns).lastInsertRowid);
  }

  const meta = { id: 'a1b2c3d4-0000-4000-8000-000000000000', epoch: OLD_EPOCH, target: TARGET, generation: '7' };
  for (const [name, value] of Object.entries(meta)) insert('meta', { name, value });
  insert('streams', { id: 1, source: 'erp', name: 'default', mapping_revision: 'r1' });
  insert('runs', { id: 1, source: 'erp', cause: 'cli', started_at: 900, ended_at: 950, result: 'complete' });

  function insertItem({ kind, key, desired, baseline, baselineHash, remoteId, refs = [], ...item }: OldItem): number {
    const record = kind === 'passport' ? null : insertRecord(key);
    const id = insert('items', {
      kind,
      key,
      natural_key: naturalKeyOf(kind, key),
      record_id: record,
      source: 'erp',
      appeared_at: 900,
      desired: canonicalJson(desired),
      desired_hash: hashOf(kind, desired, refs),
      baseline: baseline === undefined ? null : canonicalJson(baseline),
      baseline_hash: baseline === undefined ? null : (baselineHash ?? hashOf(kind, baseline, refs)),
      remote_id: remoteId === undefined ? null : JSON.stringify(remoteId),
      revision: item.revision ?? 0,
      ...item.columns,
    });
    for (const { role, kind: of, key: to } of refs) insert('refs', { item_id: id, role, kind: of, key: to });
    return id;
  }

  function insertRecord(key: string): number {
    const rest = { hash: sha256Url(key), raw: '{}', place: '{"file":"old.csv","line":1}', version: 1, state: 'mapped' };
    return insert('records', { stream_id: 1, key, ...rest, run_id: 1 });
  }

  return {
    db,
    insert,
    item(item, deliveries = []) {
      const revisions = deliveries.map((one, at) => one.revision ?? at + 1);
      const itemId = insertItem({ revision: Math.max(0, ...revisions), ...item });
      for (const [at, { operation, state, desired = item.desired, columns }] of deliveries.entries()) {
        const { kind, key, refs = [] } = item;
        const revision = revisions[at] ?? 1;
        const isOver = state === 'delivered' || state === 'superseded';
        const payloadHash = hashOf(kind, desired, refs);
        const naturalKey = naturalKeyOf(kind, key);
        const parts = {
          epoch: OLD_EPOCH,
          target: TARGET,
          operation,
          subject: itemId,
          naturalKey,
          payloadHash,
          revision,
        };
        insert('deliveries', {
          item_id: itemId,
          operation,
          revision,
          state,
          idempotency_key: idempotencyKey(parts),
          desired: isOver ? null : canonicalJson(desired),
          desired_hash: payloadHash,
          staged_at: 1000 + revision,
          ...(isOver ? { sent_at: 1100 + revision, settled_at: 1200 + revision, attempts: 1 } : {}),
          ...columns,
        });
      }
      return itemId;
    },
    close: () => void db.close(),
  };
}

export function oldHash(kind: SubjectKind, content: JsonObject, refs: readonly ItemRef[] = []): string {
  return hashOf(kind, content, refs);
}

function hashOf(kind: SubjectKind, content: JsonObject, refs: readonly ItemRef[]): string {
  return kind === 'passport' ? sha256Url(canonicalJson(content)) : itemHash({ payload: content, refs: [...refs] });
}

function naturalKeyOf(kind: SubjectKind, key: string): string {
  return kind === 'material' ? `M-${key}` : `SKU-${key}`;
}

/** Changes a ledger of the present version into one of the version before the views showed the states of missing items. */
export function undoStatesOfMissingItems(db: Database.Database): void {
  dropViews(db);
  db.pragma(`user_version = ${BEFORE_STATES_OF_MISSING_ITEMS}`);
}

/** Changes a ledger of the present version into one of the version before the warnings of reads. */
export function undoWarnings(db: Database.Database): void {
  undoStatesOfMissingItems(db);
  db.exec('DROP INDEX items_padded; ALTER TABLE run_streams DROP COLUMN warnings');
  db.pragma(`user_version = ${BEFORE_WARNINGS}`);
}

/** Changes a ledger of the present version into one of the version before the lost records of held reads were stored. */
export function undoLostRecords(db: Database.Database): void {
  undoWarnings(db);
  db.exec('DROP TABLE lost_records');
  db.pragma(`user_version = ${BEFORE_LOST_RECORDS}`);
}

/** Changes a ledger of the present version into one of the version before the times of streams were stored. */
export function undoTimes(db: Database.Database): void {
  undoLostRecords(db);
  db.exec('ALTER TABLE streams DROP COLUMN read_as_of');
  db.pragma(`user_version = ${BEFORE_TIMES}`);
}

/** Changes a ledger of the present version into one of the version before the identity of streams was stored. */
export function undoIdentities(db: Database.Database): void {
  undoTimes(db);
  db.exec('ALTER TABLE streams DROP COLUMN identity');
  db.pragma(`user_version = ${BEFORE_IDENTITIES}`);
}

/**
 * Changes a ledger of the present version into one of the last version in which white space around the values of a key was a
 * part of the key.
 */
export function undoPlainKeys(db: Database.Database): void {
  undoIdentities(db);
  db.pragma(`user_version = ${BEFORE_PLAIN_KEYS}`);
}

/** Changes a ledger of the present version into one of the version before unproven writes were noted. */
export function undoUnprovenWrites(db: Database.Database): void {
  undoPlainKeys(db);
  db.exec('DROP INDEX items_unproven; ALTER TABLE items DROP COLUMN unproven');
  db.pragma(`user_version = ${BEFORE_UNPROVEN}`);
}

/** Changes a ledger of the present version into one of the version before the forms of items. */
export function undoWireForms(db: Database.Database): void {
  undoUnprovenWrites(db);
  db.exec(`DROP INDEX items_by_form; ALTER TABLE items DROP COLUMN form; ALTER TABLE items DROP COLUMN sent_form;
    DROP TABLE wire_forms`);
  db.pragma(`user_version = ${BEFORE_WIRE_FORMS}`);
}

/** Changes a ledger of the present version into one of the version before held creates. */
export function undoHeldCreates(db: Database.Database): void {
  undoWireForms(db);
  db.exec(`DROP TABLE held_creates; ALTER TABLE streams DROP COLUMN holds_creates;
    ALTER TABLE guarded_reads DROP COLUMN holds_creates; ALTER TABLE guarded_items DROP COLUMN holds_creates`);
  db.pragma(`user_version = ${BEFORE_PEOPLE + 3}`);
}

/** Changes a ledger of the present version into one of the version before the tables of people. */
export function undoPeople(db: Database.Database): void {
  undoHeldCreates(db);
  db.exec(`DROP TABLE actions; DROP TABLE cause_notes; DROP TABLE lookup_values;
    DROP INDEX records_by_issue; DROP INDEX items_by_reason; DROP INDEX items_by_time; DROP INDEX passports_by_standing;
    ALTER TABLE lookups DROP COLUMN title; ALTER TABLE runs DROP COLUMN asked_by;
    ALTER TABLE records DROP COLUMN quarantined_at;
    UPDATE items SET reason = json_remove(reason, '$.shape') WHERE reason IS NOT NULL`);
  db.pragma(`user_version = ${BEFORE_PEOPLE}`);
}
