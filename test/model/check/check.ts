import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { DeliveryState } from '../../../src/domain/delivery/delivery.ts';
import type { Operation } from '../../../src/domain/delivery/operation.ts';
import type { UnprovenCause } from '../../../src/domain/delivery/outcome.ts';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import { type Item, itemHash } from '../../../src/domain/item.ts';
import { statusAfter } from '../../../src/domain/passport.ts';
import { sha256Url } from '../../../src/lib/hash.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../../src/lib/json.ts';
import { IS_OPEN } from '../../support/ledger/ledger-revisions.ts';
import { misplacedReason } from '../../support/ledger/reason-check.ts';
import type { LossyQueues } from '../world/lossy-queues.ts';
import type { ModelApi } from '../world/model-api.ts';
import { MODEL_KEY } from '../world/model-process.ts';
import { type ModelSource, PAYLOAD_MARK } from '../world/model-source.ts';
import { DELIVERY_NUMBER, type Evidence, type Witness } from './witness.ts';

export interface ItemState {
  id: number;
  kind: 'product' | 'material' | 'bom_item' | 'passport';
  key: string;
  naturalKey: string | null;
  desired: JsonObject;
  desiredHash: string;
  baseline: JsonObject | null;
  baselineHash: string | null;
  /** The hash of the content that a person has ignored. */
  ignoredHash: string | null;
  remoteId: JsonValue;
  /** Why the last write was taken although nothing proves it; null if it was proven. */
  unproven: UnprovenCause | null;
  /** Whether a record makes this item. */
  isOwned: boolean;
  /** Whether that record is in the source now. */
  isMade: boolean;
  open: {
    /** The number of the delivery, as the witness counts deliveries. */
    number: number;
    state: DeliveryState;
    operation: string;
    uncertain: boolean;
    dueAt: number;
    attempts: number;
    desired: JsonObject | null;
    reason: Reason | null;
  } | null;
}

interface Row {
  id: number;
  kind: ItemState['kind'];
  key: string;
  naturalKey: string | null;
  desired: string;
  desiredHash: string;
  baseline: string | null;
  baselineHash: string | null;
  ignoredHash: string | null;
  remoteId: string | null;
  unproven: UnprovenCause | null;
  recordId: number | null;
  missingSince: number | null;
  deliveryId: number | null;
  state: DeliveryState;
  operation: Operation;
  uncertain: number;
  dueAt: number;
  attempts: number;
  sent: string | null;
  reason: string | null;
}

/** All items and passports with their open deliveries, as they are committed. */
export function readItems(file: string): ItemState[] {
  const db = new Database(file, { readonly: true });
  try {
    const rows = db
      .prepare<[], Row>(
        `SELECT i.id, i.kind, i.key, i.natural_key AS naturalKey, i.desired, i.desired_hash AS desiredHash,
           iif(i.acknowledged = 1, i.desired, i.baseline) AS baseline,
           iif(i.acknowledged = 1, i.desired_hash, i.baseline_hash) AS baselineHash, i.ignored_hash AS ignoredHash, i.remote_id AS remoteId, i.unproven, i.record_id AS recordId, i.missing_since AS missingSince, 
           iif(${IS_OPEN}, ${DELIVERY_NUMBER}, NULL) AS deliveryId, i.state, i.operation, i.uncertain, i.due_at AS dueAt, i.attempts,
           iif(i.kind = 'passport', NULL, coalesce(i.sent, i.desired)) AS sent, i.reason FROM items i ORDER BY i.id`,
      )
      .all();
    return rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      key: row.key,
      naturalKey: row.naturalKey,
      desired: JSON.parse(row.desired) as JsonObject,
      desiredHash: row.desiredHash,
      baseline: row.baseline === null ? null : (JSON.parse(row.baseline) as JsonObject),
      baselineHash: row.baselineHash,
      ignoredHash: row.ignoredHash,
      remoteId: row.remoteId === null ? null : (JSON.parse(row.remoteId) as JsonValue),
      unproven: row.unproven,
      isOwned: row.recordId !== null,
      isMade: row.recordId !== null && row.missingSince === null,
      open:
        row.deliveryId === null
          ? null
          : {
              number: row.deliveryId,
              state: row.state,
              operation: row.operation,
              uncertain: row.uncertain === 1,
              dueAt: row.dueAt,
              attempts: row.attempts,
              desired: sentOf(row),
              reason: row.reason === null ? null : (JSON.parse(row.reason) as Reason),
            },
    }));
  } finally {
    db.close();
  }
}

/** The payload that a write sends. For a passport it is the status after the write. */
function sentOf({ kind, operation, sent }: Row): JsonObject | null {
  if (kind === 'passport') return { status: statusAfter(operation) };
  return sent === null ? null : (JSON.parse(sent) as JsonObject);
}

/** The item as the platform has it, or undefined if the platform does not have it. */
export function remoteOf(
  api: ModelApi,
  { kind, key, naturalKey, remoteId }: ItemState,
  products: ItemState[],
): JsonObject | null {
  const byId = (list: JsonObject[]): JsonObject | null => list.find(({ id }) => id === remoteId) ?? null;
  if (kind === 'bom_item') return api.bomItems().find(({ position }) => position === key) ?? null;
  if (kind === 'passport') {
    const product = products.find((one) => one.kind === 'product' && one.key === key);
    return api.passports().find((passport) => passport['product'] === product?.remoteId) ?? null;
  }
  const list = kind === 'product' ? api.products() : api.materials();
  if (remoteId !== null) return byId(list);
  return list.find((one) => one[kind === 'product' ? 'sku' : 'code'] === naturalKey) ?? null;
}

const UNSET: JsonObject = { status: 'DRAFT' };

/** Whether the platform shows a payload. Fields of an older payload are allowed only with `mayBeMore`. */
export function showsPayload(remote: JsonObject, payload: JsonObject, mayBeMore = false): boolean {
  const own = new Set(['id', 'created_at', 'updated_at', 'product', 'material', 'component']);
  return Object.entries(remote).every(([name, value]) => {
    if (own.has(name) || (mayBeMore && !(name in payload))) return true;
    const wanted = payload[name] ?? UNSET[name] ?? null;
    return canonicalJson(wanted) === canonicalJson(value);
  });
}

const PROGRESS = ['none', 'initialized', 'published'];

const EXPLAINED_BY: Partial<Record<DeliveryState, readonly Evidence[]>> = {
  rejected: ['refused', 'accepted', 'conflict', 'unclear'],
  parked: ['unclear', 'accepted'],
  in_doubt: ['unclear', 'conflict', 'accepted'],
};

export interface AtRest {
  api: ModelApi;
  witness: Witness;
  source: ModelSource;
  /** Whether the API can be asked to change a product. */
  updatesProducts: boolean;
  /** Whether a person has asked for a passport. A restored ledger may not know about that. */
  hasAsked: boolean;
}

/**
 * Checks what must be true after every run in which all work is done. Returns one sentence for each thing that is not.
 */
export function checkAtRest(file: string, parts: AtRest): string[] {
  const { api, witness, source } = parts;
  const wanted: Item[] = source.items();
  const items = readItems(file);
  const problems: string[] = [];
  const known = new Map(items.map((item) => [`${item.kind} ${item.key}`, item]));
  for (const item of wanted) {
    const found = known.get(`${item.kind} ${item.key}`);
    if (!found) problems.push(`I5: ${item.kind} ${item.key} of the source is not in the ledger.`);
    else if (found.desiredHash !== itemHash(item))
      problems.push(`I5: ${item.kind} ${item.key} is not desired as the source has it.`);
  }
  for (const item of items) {
    const name = `${item.kind} ${item.key}`;
    // A refusal says nothing about an earlier attempt. If that attempt created the item, the next attempt finds it.
    const mayBeThere = item.open !== null && witness.evidenceFor(item.open.number).has('unclear');
    if (!mayBeThere) problems.push(...checkItem(item, items, parts).map((problem) => `${name}: ${problem}`));
    if (item.open) problems.push(...checkOpen(item.open, witness).map((problem) => `${name}: ${problem}`));
    if (witness.creations(name) > 1 && !mayBeDouble(item, parts)) problems.push(`I6: ${name} was created twice.`);
  }
  for (const { id } of api.products()) {
    const live = api.publications().filter(({ product, status }) => product === id && status === 'published');
    if (live.length > 1) problems.push(`I6: product ${JSON.stringify(id)} has ${live.length} live publications.`);
  }
  return problems;
}

/** Whether a restored ledger cannot distinguish an item from a new one (docs/adr/0008-restored-ledgers.md). */
function mayBeDouble({ kind, key }: ItemState, { witness, source }: AtRest): boolean {
  if (!witness.hasRestored()) return false;
  // A product that got another natural key since the backup looks new, and so do its passport and BOM items.
  return source.wasMoved(key) || (kind === 'bom_item' && source.maySeemNew(key));
}

function checkItem(item: ItemState, items: ItemState[], parts: AtRest): string[] {
  const { api, witness, source, updatesProducts, hasAsked } = parts;
  const { open, baseline, baselineHash, kind } = item;
  const isRestored = witness.hasRestored();
  const uncertain = open !== null && (open.uncertain || open.state === 'in_doubt' || open.state === 'sending');
  if (uncertain) return [];
  const remote = remoteOf(api, item, items);
  if (kind === 'passport') {
    if (isRestored && hasAsked) return [];
    const acknowledged = (baseline?.['status'] ?? 'none') as string;
    const actual = (remote?.['status'] ?? 'none') as string;
    // The passport reached a later status since the backup, and its product is not complete now or its step is stuck.
    const isWaiting =
      open !== null || source.hasBadRows() || items.some((one) => one.kind !== 'passport' && (one.open || !one.isMade));
    if (isRestored && isWaiting && PROGRESS.indexOf(actual) > PROGRESS.indexOf(acknowledged)) return [];
    // The passport was withdrawn since the backup, and its product is in the source again.
    if (
      actual === 'unpublished' &&
      acknowledged === 'published' &&
      witness.wasWithdrawnSinceBackup(`${kind} ${item.key}`)
    )
      return [];
    return acknowledged === actual ? [] : [`I4: it is ${actual} and the ledger has ${acknowledged}.`];
  }
  if (baseline === null) {
    // The item was created since the backup, and it is not desired now or has another fault. Or an earlier revision may
    // have created it, and the revision that would find it is refused too.
    const isEnded = item.ignoredHash !== null;
    const mayBeThere = (open !== null || isEnded) && (isRestored || witness.wasUnclear(`${kind} ${item.key}`));
    const isExplained = remote === null || mayBeThere || (isRestored && !item.isMade);
    return isExplained ? [] : ['I4: it is at the platform, and the ledger does not know.'];
  }
  if (remote === null) return ['I8: it was acknowledged and is not at the platform.'];
  const presenceOnly = baselineHash === sha256Url(canonicalJson(baseline));
  const problems: string[] = [];
  // Since the backup the item may have got other content at the platform. For these items no later write replaces that content.
  const isLeft = isRestored && (kind === 'bom_item' || !item.isMade || (kind === 'product' && !updatesProducts));
  if (!presenceOnly && !isLeft && !showsPayload(remote, baseline, isRestored)) {
    problems.push(`I4: the platform has ${canonicalJson(remote)} and the ledger ${canonicalJson(baseline)}.`);
  }
  // After a restore an item that the source no longer has is not written in full until it comes back.
  const isWanted = item.isOwned && (item.isMade || !isRestored);
  if (item.ignoredHash !== null && (open !== null || item.ignoredHash !== item.desiredHash))
    problems.push('I4: a person has ended a write, and another one is desired or open.');
  if (open === null && isWanted && baselineHash !== item.desiredHash && item.ignoredHash === null)
    problems.push('I4: desired and acknowledged differ, and no delivery says so.');
  return problems;
}

function checkOpen({ number, state, dueAt, reason }: NonNullable<ItemState['open']>, witness: Witness): string[] {
  const misplaced = misplacedReason(state, reason?.code ?? null);
  if (misplaced !== null) return [`I5: ${misplaced}.`];
  if (state === 'due' || state === 'sending') return [`I5: it is left ${state}.`];
  if (state === 'in_doubt' && dueAt > 0) return ['I5: it is unconfirmed and still waits for a read-back.'];
  if (state === 'waiting') return [];
  if (reason === null || reason.message === '') return [`I5: it is ${state} without a reason.`];
  const explained = EXPLAINED_BY[state];
  const answers = witness.evidenceFor(number);
  // A claimed request may never have been sent.
  const isLost = (reason.code === 'crash' && witness.deaths() > 0) || reason.code === 'restored';
  const isWord = reason.code === 'person';
  // The delivery was dead-lettered before anything was sent.
  const isUnsent = reason.code === 'internal' && state === 'rejected';
  if (explained && !isLost && !isWord && !isUnsent && !explained.some((one) => answers.has(one))) {
    return [`I5: it is ${state} after ${[...answers].join(', ') || 'nothing was answers'}: ${reason.message}`];
  }
  return [];
}

interface AccountRow {
  id: number;
  result: string | null;
  read: number;
  rest: number;
}

/** Checks the counts of runs, and that no payload or secret is in the queue or where it must not be in the ledger. */
export function checkBooks(file: string, queues: LossyQueues): string[] {
  const problems: string[] = [];
  const db = new Database(file, { readonly: true });
  try {
    const accounts = db
      .prepare<[], AccountRow>(
        `SELECT r.id, r.result, a.read, a.unchanged + a.changed + a.quarantined + a.excluded AS rest
         FROM run_streams a JOIN runs r ON r.id = a.run_id ORDER BY r.id`,
      )
      .all();
    for (const { id, result, read, rest } of accounts) {
      if (rest > read || (result === 'complete' && rest !== read)) {
        problems.push(`I5: run ${id} read ${read} rows and accounts for ${rest}.`);
      }
    }
    if (db.pragma('integrity_check', { simple: true }) !== 'ok') problems.push('I8: the ledger is damaged.');
  } finally {
    db.close();
  }
  const secret = Buffer.from(MODEL_KEY);
  for (const part of [file, `${file}-wal`]) {
    if (readIfThere(part).includes(secret)) problems.push(`I7: the API key is in ${part}.`);
  }
  const leaked = queues.texts().find((text) => text.includes(MODEL_KEY) || text.includes(PAYLOAD_MARK));
  if (leaked !== undefined) problems.push(`I7: the queue has ${leaked}.`);
  return problems;
}

function readIfThere(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    return Buffer.alloc(0);
  }
}

/** The reasons for which a delivery stays blocked unless somebody changes the platform by hand. */
const HOPELESS: ReadonlySet<string> = new Set(['unsupported', 'renamed', 'not_upserted']);

/** Checks that after everything was fixed only deliveries are left for which the API has no write. */
export function checkAfterFixes(file: string): string[] {
  const items = readItems(file);
  const isHopeless = ({ open }: ItemState): boolean =>
    open?.state === 'blocked' && HOPELESS.has(open.reason?.code ?? '');
  // A passport waits for its product and that product's BOM items.
  const isWaiting = items.some((item) => item.kind !== 'passport' && (isHopeless(item) || (item.open && !item.isMade)));
  return items.flatMap((item) => {
    const { kind, key, open } = item;
    // An item that the source no longer has stays as it is, and so does its passport.
    if (open === null || isHopeless(item) || (!item.isMade && kind !== 'passport')) return [];
    if (kind === 'passport' && isWaiting) return [];
    return [`I5: ${kind} ${key} has no way out of ${open.state}: ${open.reason?.message ?? 'no reason'}`];
  });
}
