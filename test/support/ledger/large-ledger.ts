// Writes a ledger like one after years of syncs. SQL statements write it, not runs, so it takes only some seconds.

import Database from 'better-sqlite3';
import { sha256Url } from '../../../src/lib/hash.ts';
import { canonicalJson, type JsonObject } from '../../../src/lib/json.ts';
import { openLedger } from './ledger.ts';

/** A time in the past: if a ledger has times in the future, the process that opens it moves them back row by row. */
const NOW = Date.UTC(2026, 0, 15, 2, 30);
const NIGHT_MS = 24 * 3_600_000;
const NIGHTS = 30;
/** One of this many rows of each source is in quarantine. */
const ROWS_A_QUARANTINED_ONE = 50;
/** One of this many products was refused. Another one has no passport because its row is in quarantine. */
const PRODUCTS_A_REJECTED_ONE = 1000;
const PARTS_OF_PRODUCT = 2;
const WORDS = ['Alpine', 'Nordic', 'Urban', 'Coastal', 'Forest', 'Granite', 'Sierra', 'Tundra'];
const THINGS = ['tent', 'jacket', 'backpack', 'rope', 'stove', 'lamp', 'mat', 'boots', 'gloves', 'compass'];

export interface LargeLedger {
  products: number;
  materials: number;
  bomItems: number;
  passports: number;
  quarantined: number;
  /** The key of a product with BOM items. */
  product: string;
}

/**
 * Writes a ledger with about this many items: products, materials, BOM items and passports of the sources `erp` and
 * `pim`, with runs, quarantined rows and refused items.
 *
 * @param target the base URL of the API to which the ledger is bound
 */
export async function writeLargeLedger(file: string, items: number, target: string): Promise<LargeLedger> {
  await openLedger(file, { target }).close();
  const db = new Database(file);
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -200000');
  db.pragma('foreign_keys = OFF');
  try {
    const written = db.transaction(() => write(db, items))();
    db.pragma('wal_checkpoint(TRUNCATE)');
    return written;
  } finally {
    db.close();
  }
}

function write(db: Database.Database, items: number): LargeLedger {
  // For each product there are a passport, two BOM items and a fifth of a material.
  const products = Math.max(10, Math.round(items / (2 + PARTS_OF_PRODUCT + 0.2)));
  const materials = Math.max(2, Math.round(products / 5));
  const writer = createWriter(db);
  writer.sources();
  for (let n = 1; n <= materials; n += 1) {
    writer.item('material', `M-${n}`, { code: `M-${n}`, name: `${word(n)} fabric ${n}` }, 'pim', n, null);
  }
  let quarantined = 0;
  let passports = 0;
  for (let n = 1; n <= products; n += 1) {
    const key = `P-${String(n).padStart(8, '0')}`;
    const name = `${word(n)} ${THINGS[n % THINGS.length] ?? ''} ${n}`;
    const payload = { country_of_origin: 'DE', name, sku: key, weight_kg: '1.25' };
    const rejected = n % PRODUCTS_A_REJECTED_ONE === 7;
    writer.item('product', key, payload, 'erp', n, rejected ? 'refused' : null);
    for (let part = 0; part < PARTS_OF_PRODUCT; part += 1) {
      const material = `M-${1 + ((n * 7 + part) % materials)}`;
      const line = { quantity: String(1 + part), unit: 'pcs' };
      const id = writer.item('bom_item', `${key}/${part + 1}`, line, 'erp', n * PARTS_OF_PRODUCT + part, null);
      writer.ref(id, 'product', 'product', key);
      writer.ref(id, 'material', 'material', material);
    }
    const isHeld = n % ROWS_A_QUARANTINED_ONE === 0;
    if (isHeld) {
      writer.quarantined(n, key);
      quarantined += 1;
    }
    if (rejected || isHeld) continue;
    writer.passport(key, n);
    passports += 1;
  }
  return {
    products,
    materials,
    bomItems: products * PARTS_OF_PRODUCT,
    passports,
    quarantined,
    product: 'P-00000001',
  };
}

function word(n: number): string {
  return WORDS[n % WORDS.length] ?? '';
}

/** The platform's answer to a refused product. */
const REFUSED = canonicalJson({
  code: 'refused',
  fields: { weight_kg: 'A valid number is required.' },
  message: 'The platform refused it (400): weight_kg: A valid number is required.',
  shape: 'aaaaaaaaaaaa',
  status: 400,
});

function createWriter(db: Database.Database) {
  const sql = {
    stream: db.prepare(
      "INSERT INTO streams (id, source, name, mapping_revision, complete_read, was_read) VALUES (?, ?, ?, 'r1', 1, 1)",
    ),
    run: db.prepare(
      "INSERT INTO runs (id, source, cause, started_at, ended_at, result) VALUES (?, ?, 'schedule', ?, ?, 'complete')",
    ),
    runStream: db.prepare('INSERT INTO run_streams (run_id, stream_id, read, unchanged) VALUES (?, ?, 100, 100)'),
    record: db.prepare(
      `INSERT INTO records (id, stream_id, key, hash, raw, place, version, state, issues, quarantined_at)
       VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
    ),
    hold: db.prepare('INSERT INTO holds (record_id, product_key) VALUES (?, ?)'),
    item: db.prepare(
      `INSERT INTO items (id, kind, key, natural_key, record_id, source, appeared_at, desired_hash, acknowledged, baseline_hash,
         remote_id, revision, state, operation, attempts, staged_at, sent_at, settled_at, desired, baseline, reason)
       VALUES (@id, @kind, @key, @naturalKey, @record, @source, @at, @hash, @acknowledged, @baselineHash, @remoteId, 1, @state,
         @operation, 1, @at, @at, @at, @desired, @baseline, @reason)`,
    ),
    ref: db.prepare('INSERT INTO refs (item_id, role, kind, key) VALUES (?, ?, ?, ?)'),
  };
  const STREAMS: Record<string, number> = { erp: 1, pim: 2 };
  let lastRecord = 0;
  let lastItem = 0;
  const at = (n: number) => NOW - (NIGHTS - (n % NIGHTS)) * NIGHT_MS + (n % 100_000);

  function record(source: string, key: string, raw: JsonObject, issues: string | null, since: number | null): number {
    lastRecord += 1;
    const text = canonicalJson(raw);
    const place = canonicalJson({ file: `${source}.csv`, line: lastRecord + 1 });
    const state = issues === null ? 'mapped' : 'quarantined';
    sql.record.run(lastRecord, STREAMS[source], key, sha256Url(key), text, place, state, issues, since);
    return lastRecord;
  }

  return {
    sources(): void {
      for (const [source, id] of Object.entries(STREAMS)) {
        sql.stream.run(id, source, 'default');
        for (let night = 0; night < NIGHTS; night += 1) {
          const run = night * 2 + id;
          const began = NOW - (NIGHTS - night) * NIGHT_MS;
          sql.run.run(run, source, began, began + 60_000);
          sql.runStream.run(run, id);
        }
      }
    },
    item(
      kind: 'product' | 'material' | 'bom_item',
      key: string,
      payload: JsonObject,
      source: string,
      n: number,
      refusal: 'refused' | null,
    ): number {
      lastItem += 1;
      const desired = canonicalJson(payload);
      sql.item.run({
        id: lastItem,
        kind,
        key,
        naturalKey: kind === 'bom_item' ? null : key,
        record: record(source, `["${key}"]`, { ...payload, ID: key }, null, null),
        source,
        at: at(n),
        hash: sha256Url(desired),
        acknowledged: refusal === null ? 1 : 0,
        baselineHash: null,
        remoteId: refusal === null ? String(lastItem) : null,
        state: refusal === null ? 'delivered' : 'rejected',
        operation: `${kind}.create`,
        desired,
        baseline: null,
        reason: refusal === null ? null : REFUSED,
      });
      return lastItem;
    },
    ref: (id: number, role: string, kind: string, key: string) => void sql.ref.run(id, role, kind, key),
    passport(product: string, n: number): void {
      lastItem += 1;
      const desired = '{"because":"policy","status":"published"}';
      const baseline = '{"status":"published"}';
      sql.item.run({
        id: lastItem,
        kind: 'passport',
        key: product,
        naturalKey: null,
        record: null,
        source: 'erp',
        at: at(n),
        hash: sha256Url(desired),
        acknowledged: 2,
        baselineHash: sha256Url(baseline),
        remoteId: String(lastItem),
        state: 'delivered',
        operation: 'passport.publish',
        desired,
        baseline,
        reason: null,
      });
      sql.ref.run(lastItem, 'product', 'product', product);
    },
    quarantined(n: number, product: string): void {
      const value = `Land ${n % 7}`;
      const issue = {
        code: 'country.unknown',
        message: `"${value}" is not a country.`,
        field: 'country_of_origin',
        value,
        cure: 'Correct it in the source.',
      };
      const row = { ID: product, country: value };
      const id = record('erp', `["${product}-changed"]`, row, JSON.stringify([issue]), at(n));
      sql.hold.run(id, product);
    },
  };
}
