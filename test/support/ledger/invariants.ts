import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { DeliveryState } from '../../../src/domain/delivery/delivery.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import type { SandboxSnapshot } from '../../../src/sandbox/control/inspection.ts';
import type { Invariant } from '../docs/reliability.ts';
import type { SmallExport } from '../worlds/small-export.ts';
import { API_KEY, type World } from '../worlds/world.ts';
import { text } from './items.ts';
import { REVISIONS } from './ledger-revisions.ts';
import { misplacedReason } from './reason-check.ts';

/** The state after a fault, when no automatic work is left and the processes have ended. */
export interface Evidence {
  ledgerFile: string;
  /** Files and folders that are searched for secrets. By default it is the folder of the ledger. */
  files?: readonly string[];
  platform: Pick<SandboxSnapshot, 'organizations' | 'writes'>;
  /** The present content of the source. */
  source: SmallExport;
  /**
   * With `delivered` each BOM item is once on the platform. With `or_unconfirmed` a missing BOM item is listed as
   * unconfirmed (the exception of I8).
   */
  bomItems: 'delivered' | 'or_unconfirmed';
  /** SKUs whose passports have to be published. Without it, the policy publishes nothing. */
  published?: readonly string[];
  /** Secrets that only the config may contain. */
  secrets: readonly string[];
}

export interface Violation {
  invariant: Invariant;
  message: string;
}

/** The evidence of a world: its ledger, its platform, and the API key that only its config may contain. */
export function evidenceOf(
  world: Pick<World, 'folder' | 'sandbox'>,
  rest: Pick<Evidence, 'source' | 'bomItems' | 'published'>,
): Evidence {
  const ledgerFile = join(world.folder, 'data/ledger.db');
  return { ledgerFile, platform: world.sandbox.inspect(), secrets: [API_KEY], ...rest };
}

/** The SKUs of all products in the source. */
export function allSkus({ products }: SmallExport): string[] {
  return products.map(({ id }) => `SKU-${id}`);
}

interface Row {
  id: number;
  kind: 'product' | 'material' | 'bom_item' | 'passport';
  key: string;
  baseline: string | null;
  remoteId: string | null;
  isAcknowledged: 0 | 1;
  state: DeliveryState | null;
  reason: string | null;
}

/** A few violations of one kind are enough. More of them would hide those of other kinds. */
const PER_INVARIANT_MAX = 5;

/**
 * Compares ledger, platform and source after a fault. It reads the files without the code under test. The expected
 * content of the source comes from the test.
 */
export function violations(evidence: Evidence): Violation[] {
  const found: Violation[] = [];
  const say = (invariant: Invariant, message: string): void => {
    if (found.filter((one) => one.invariant === invariant).length < PER_INVARIANT_MAX)
      found.push({ invariant, message });
  };
  const db = new Database(evidence.ledgerFile, { readonly: true });
  try {
    const integrity = db.pragma('integrity_check', { simple: true });
    if (integrity !== 'ok') say('I8', `integrity_check says ${String(integrity)}`);
    recordsAreThere(db, evidence, say);
    keysAreStable(db, say);
    revisionsAreInOrder(db, say);
    const rows = db.prepare<[], Row>(ITEMS).all();
    itemsAreAccountedFor(rows, say);
    platformHasEachOnce(rows, evidence, say);
    writesAreSingle(db, evidence, say);
  } finally {
    db.close();
  }
  secretsAreAbsent(evidence, say);
  return found;
}

type Say = (invariant: Invariant, message: string) => void;

const ITEMS = `SELECT i.id, i.kind, i.key, iif(i.acknowledged = 1, i.desired, i.baseline) AS baseline, i.remote_id AS remoteId,
    i.acknowledged = 1 OR i.baseline_hash IS i.desired_hash AS isAcknowledged, i.state, i.reason FROM items i`;

/** The cursor is behind the last row, so every row has to be stored and accounted for. */
function recordsAreThere(db: Database.Database, { source }: Evidence, say: Say): void {
  const stored = db
    .prepare<[], { name: string }>('SELECT s.name FROM records r JOIN streams s ON s.id = r.stream_id')
    .all();
  const streams = { products: source.products, materials: source.materials, boms: source.lines };
  for (const [name, wanted] of Object.entries(streams)) {
    const there = stored.filter((one) => one.name === name).length;
    if (there < wanted.length) say('I1', `${name}: ${wanted.length} rows in the source, ${there} in the ledger`);
  }
  const counts = db
    .prepare<[], { read: number; sum: number }>(
      `SELECT read, unchanged + changed + quarantined + excluded AS sum FROM run_streams rs JOIN runs r ON r.id = rs.run_id
       WHERE r.result = 'complete'`,
    )
    .all();
  for (const { read, sum } of counts)
    if (read !== sum) say('I5', `a run has read ${read} rows and accounts for ${sum}`);
}

function keysAreStable(db: Database.Database, say: Say): void {
  const doubled = db
    .prepare<[], { key: string; count: number }>(
      'SELECT idempotency_key AS key, count(*) AS count FROM requests GROUP BY 1 HAVING count(*) > 1',
    )
    .all();
  for (const { key, count } of doubled) say('I2', `${count} requests have the idempotency key ${key}`);
  const bare = db
    .prepare<[], { id: number }>(
      `SELECT id FROM items WHERE sent_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = request_id)
       AND operation <> 'product.import' AND state IN ('sending', 'in_doubt')`,
    )
    .all();
  for (const { id } of bare) say('I2', `the delivery of item ${id} was sent, and its bytes are not stored`);
}

function revisionsAreInOrder(db: Database.Database, say: Say): void {
  const open = db
    .prepare<[], { item: number; count: number }>(
      `SELECT item_id AS item, count(*) AS count FROM ${REVISIONS}
       WHERE state IN ('waiting', 'due', 'sending', 'in_doubt', 'blocked', 'rejected', 'parked')
       GROUP BY 1 HAVING count(*) > 1`,
    )
    .all();
  for (const { item, count } of open) say('I3', `item ${item} has ${count} deliveries that are not over`);
  const late = db
    .prepare<[], { item: number; older: number; newer: number }>(
      `SELECT a.item_id AS item, a.revision AS older, b.revision AS newer FROM ${REVISIONS} a
       JOIN ${REVISIONS} b ON b.item_id = a.item_id AND b.revision > a.revision
       WHERE b.state = 'delivered' AND a.state NOT IN ('delivered', 'superseded', 'blocked', 'rejected', 'parked')`,
    )
    .all();
  for (const one of late) say('I3', `item ${one.item}: revision ${one.older} is not over, ${one.newer} is delivered`);
}

const EXPLAINED: ReadonlySet<DeliveryState> = new Set(['waiting', 'blocked', 'rejected', 'parked', 'in_doubt']);

function itemsAreAccountedFor(rows: readonly Row[], say: Say): void {
  for (const { kind, key, isAcknowledged, state, reason, remoteId } of rows) {
    const name = `${kind} ${key}`;
    const code = reason === null ? null : (JSON.parse(reason) as { code: string }).code;
    const misplaced = state === null ? null : misplacedReason(state, code);
    if (misplaced !== null) say('I5', `${name}: ${misplaced}`);
    if (kind === 'passport') continue;
    if (isAcknowledged === 1 && remoteId === null) say('I4', `${name} counts as acknowledged and has no remote id`);
    if (isAcknowledged === 1 && (state === 'delivered' || state === null || state === 'superseded')) continue;
    if (state === 'due' || state === 'sending') say('I5', `${name} is still ${state}, although the work has ended`);
    else if (state === null || !EXPLAINED.has(state)) say('I4', `${name} differs from its baseline; it is ${state}`);
    else if (state !== 'waiting' && reason === null) say('I5', `${name} is ${state} without a reason`);
  }
}

function platformHasEachOnce(rows: readonly Row[], evidence: Evidence, say: Say): void {
  const { source, bomItems, published = [] } = evidence;
  const platform = evidence.platform.organizations['acme'];
  if (!platform) {
    say('I8', 'the platform has nothing of the organisation');
    return;
  }
  const once = (what: string, wanted: readonly string[], there: readonly string[]): void => {
    const counts = Map.groupBy(there, (one) => one);
    for (const one of wanted) if (!counts.has(one)) say('I8', `${what} ${one} is lost`);
    for (const [one, times] of counts) if (times.length > 1) say('I6', `${what} ${one} is there ${times.length} times`);
  };
  const texts = (list: readonly JsonObject[], field: string): string[] => list.map((one) => text(one[field]));
  once(
    'product',
    source.products.map(({ id }) => `SKU-${id}`),
    texts(platform.products, 'sku'),
  );
  once(
    'material',
    source.materials.map(({ id }) => id),
    texts(platform.materials, 'code'),
  );
  const names = new Map(platform.products.map((product) => [text(product['sku']), product['name']]));
  for (const { id, name } of source.products) {
    const sku = `SKU-${id}`;
    if (names.has(sku) && names.get(sku) !== name) {
      say('I4', `product ${sku} is called ${JSON.stringify(names.get(sku))} there, and ${JSON.stringify(name)} here`);
    }
  }

  const lines = new Set(platform.bomItems.map(({ id }) => JSON.stringify(id)));
  const kept = rows.filter(({ kind }) => kind === 'bom_item');
  const unconfirmed = kept.filter(({ state }) => state === 'in_doubt').length;
  for (const { key, remoteId } of kept) {
    if (remoteId !== null && !lines.has(remoteId)) say('I8', `BOM item ${key} counts as delivered and is not there`);
  }
  const acknowledged = kept.filter(({ remoteId }) => remoteId !== null).length;
  if (bomItems === 'delivered' && unconfirmed > 0)
    say('I5', `${unconfirmed} BOM items are unconfirmed, although keys are honoured`);
  if (acknowledged + unconfirmed < source.lines.length) {
    say('I8', `${source.lines.length} BOM items in the source, ${acknowledged} delivered, ${unconfirmed} unconfirmed`);
  }
  if (platform.bomItems.length > acknowledged + unconfirmed) {
    say(
      'I6',
      `${platform.bomItems.length} BOM items there, ${acknowledged} delivered and ${unconfirmed} unconfirmed here`,
    );
  }

  // The platform lists each publication of a passport separately, so a second publication can be seen.
  once('publication', published, texts(platform.publications, 'sku'));
}

/** The platform accepts an item without a natural key a second time, without an error. */
function writesAreSingle(db: Database.Database, { platform }: Evidence, say: Say): void {
  for (const { operation, naturalKey, count } of platform.writes) {
    if (operation.endsWith('.create') && count > 1) say('I6', `${operation} ${naturalKey} took effect ${count} times`);
  }
  const steps = db
    .prepare<[], { operation: string; deliveries: number }>(
      `SELECT operation, count(*) AS deliveries FROM ${REVISIONS} WHERE operation LIKE 'passport.%' AND sent_at IS NOT NULL
       GROUP BY 1`,
    )
    .all();
  for (const { operation, deliveries } of steps) {
    const effects = platform.writes
      .filter((one) => one.operation === operation)
      .reduce((sum, { count }) => sum + count, 0);
    if (effects > deliveries) say('I6', `${operation} took effect ${effects} times for ${deliveries} deliveries`);
  }
}

function secretsAreAbsent({ ledgerFile, files = [dirname(ledgerFile)], secrets }: Evidence, say: Say): void {
  for (const path of files) {
    for (const file of filesBelow(path)) {
      const bytes = readFileSync(file);
      for (const secret of secrets) {
        if (bytes.includes(secret)) say('I7', `${file} holds the key ${secret.slice(0, 8)}…`);
      }
    }
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
