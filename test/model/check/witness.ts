import Database from 'better-sqlite3';
import type { Exchange } from '../../../src/api/transport.ts';
import { IS_OPEN } from '../../support/ledger/ledger-revisions.ts';
import { TURNED_AWAY } from '../world/model-api.ts';
import type { Effect } from '../world/reporting-operations.ts';

/**
 * One number for each revision of an item `i`. It grows with the revision, and with the item if a key is used for a new
 * item.
 */
export const DELIVERY_NUMBER = 'i.id * 1000000 + i.revision';

/** The number of a delivery, as `DELIVERY_NUMBER` has it. */
export const deliveryNumber = ({ id, revision }: { id: number; revision: number }): number => id * 1_000_000 + revision;
const itemIn = (deliveryNumber: number): number => Math.floor(deliveryNumber / 1_000_000);

/** One delivery in a request. */
interface Carried {
  deliveryId: number;
  /** Kind and key. */
  item: string;
  operation: string;
  naturalKey: string | null;
}

interface Written {
  path: string;
  body: string | null;
  carried: readonly Carried[];
  isImport: boolean;
}

/** The answers to a delivery. They must explain its final state. */
export type Evidence = 'accepted' | 'unclear' | 'conflict' | 'refused' | 'turned away';

/**
 * Compares requests and effects at the platform with the committed rows of the ledger, and records each breach of I2,
 * I3 and I6 at the step where it happens.
 */
export interface Witness {
  /** Opens the file of the ledger after a start. */
  attach(file: string): void;
  detach(): void;
  /** Call this when a write is sent. Call the function that it returns when the process has the answer. */
  write(write: { key: string; path: string; body: string | null }): (exchange: Exchange) => void;
  effect(effect: Effect): void;
  /** The process has ended, and none of its writes is in flight any more. */
  died(): void;
  /** How many processes have died so far. */
  deaths(): number;
  /** Whether a write of an item, by kind and key, has no answer yet. */
  isUnderWay(item: string): boolean;
  /** The attached ledger was restored from a backup. It uses ids and revisions again that were used since the backup. */
  restored(): void;
  hasRestored(): boolean;
  evidenceFor(deliveryId: number): ReadonlySet<Evidence>;
  /** The items that were sent under an idempotency key, by kind and key. */
  sentUnder(key: string): readonly string[];
  /**
   * Whether a passport, by kind and key, was withdrawn since the backup and not published after that, and the restored
   * ledger has it as published.
   */
  wasWithdrawnSinceBackup(item: string): boolean;
  /** Whether the result of some sent revision of an item, by kind and key, is unknown. */
  wasUnclear(item: string): boolean;
  /** How often each item was created, by kind and key. */
  creations(item: string): number;
  breaches: string[];
}

export function createWitness(): Witness {
  const breaches: string[] = [];
  const written = new Map<string, Written>();
  const keyOf = new Map<number, string>();
  /** The writes in flight, by item. Entries of a process that has died do not count. */
  let underWay = new Map<string, string>();
  const evidence = new Map<number, Set<Evidence>>();
  const unclear = new Set<string>();
  const effects = new Map<string, number>();
  const newest = new Map<string, number>();
  const created = new Map<string, number>();
  const withdrawn = new Set<string>();
  let withdrawnSinceBackup = new Set<string>();
  let deaths = 0;
  let hasRestored = false;
  let db: Database.Database | null = null;
  let find: ((key: string) => FoundRow[]) | null = null;

  const note = ({ deliveryId, item }: Carried, what: Evidence): void => {
    const known = evidence.get(deliveryId) ?? new Set();
    evidence.set(deliveryId, known.add(what));
    if (what === 'unclear') unclear.add(item);
  };

  /**
   * Whether a delivery that was sent under one key may be sent under another one. This is true for a changed product in
   * any import, and for a new product in an import that the platform has not worked on.
   */
  function mayHaveOtherKey({ operation, isMember, deliveryId }: FoundRow, known: string): boolean {
    if (operation === 'product.import') return isMember === 1;
    const answers = [...(evidence.get(deliveryId) ?? [])];
    return written.get(known)?.isImport === true && answers.every((one) => one === 'turned away');
  }

  return {
    breaches,
    attach(file) {
      db = new Database(file, { readonly: true });
      const members = db.prepare<[string], FoundRow>(
        `SELECT ${DELIVERY_NUMBER} AS deliveryId, i.kind || ' ' || i.key AS item, i.operation, i.state, r.path, r.body,
           r.operation = 'product.import' AS isMember, iif(r.operation = 'product.import', coalesce(i.sent, i.desired) ->> 'sku', i.natural_key) AS naturalKey
         FROM requests r JOIN items i ON i.request_id = r.id WHERE r.idempotency_key = ? ORDER BY i.request_place`,
      );
      find = (key) => members.all(key);
    },
    detach() {
      db?.close();
      db = null;
    },

    write({ key, path, body }) {
      const rows = find?.(key) ?? [];
      const what = `${path} under the key ${key.slice(0, 6)}`;
      if (rows.length === 0) breaches.push(`I2: ${what} is sent, and the ledger has no such key.`);
      for (const row of rows) {
        if (row.state !== 'sending') breaches.push(`I2: ${what} is sent while ${row.item} is ${row.state}.`);
        if (row.path !== path || row.body !== body) breaches.push(`I2: ${what} differs from what the ledger has.`);
        const known = keyOf.get(row.deliveryId);
        if (known !== undefined && known !== key && !mayHaveOtherKey(row, known)) {
          breaches.push(`I2: ${row.item} is sent under a second key as the same revision.`);
        }
        keyOf.set(row.deliveryId, key);
        if (underWay.has(row.item)) breaches.push(`I3: ${row.item} is sent while it is under way.`);
        if ((newest.get(row.item) ?? 0) > row.deliveryId)
          breaches.push(`I3: ${row.item} is sent after a newer revision.`);
      }
      const before = written.get(key);
      if (before && (before.path !== path || before.body !== body))
        breaches.push(`I2: ${what} is sent with other bytes.`);
      const carried = rows.map(({ deliveryId, item, operation, naturalKey }) => ({
        deliveryId,
        item,
        operation,
        naturalKey,
      }));
      if (
        before &&
        before.carried.map((one) => one.deliveryId).join() !== carried.map((one) => one.deliveryId).join()
      ) {
        breaches.push(`I2: ${what} stood for another delivery before.`);
      }
      written.set(key, { path, body, carried, isImport: rows.some(({ isMember }) => isMember === 1) });
      const mine = underWay;
      for (const { item } of carried) mine.set(item, key);
      return (exchange) => {
        for (const one of carried) {
          mine.delete(one.item);
          note(one, evidenceIn(exchange));
        }
      };
    },

    effect({ key, operation, sku }) {
      const carried = written.get(key)?.carried ?? [];
      const meant = sku === null ? carried : carried.filter(({ naturalKey }) => naturalKey === sku);
      if (meant.length === 0) breaches.push(`I6: ${operation} changed ${sku ?? 'something'} that nobody had sent.`);
      for (const { item, deliveryId, operation: carriedAs } of meant) {
        const id = `${deliveryId}`;
        const count = (effects.get(id) ?? 0) + 1;
        effects.set(id, count);
        if (count > 1) breaches.push(`I6: one revision of ${item} took effect ${count} times (${operation}).`);
        if ((newest.get(item) ?? 0) > deliveryId)
          breaches.push(`I3: an older revision of ${item} landed after a newer one.`);
        newest.set(item, Math.max(newest.get(item) ?? 0, deliveryId));
        if (operation === 'passport.unpublish') withdrawn.add(item);
        if (operation === 'passport.publish') {
          withdrawn.delete(item);
          withdrawnSinceBackup.delete(item);
        }
        if (!carriedAs.endsWith('.create')) continue;
        created.set(item, (created.get(item) ?? 0) + 1);
      }
    },

    deaths: () => deaths,
    isUnderWay: (item) => underWay.has(item),
    restored() {
      hasRestored = true;
      keyOf.clear();
      effects.clear();
      newest.clear();
      const present = db?.prepare<[], number>(`SELECT ${DELIVERY_NUMBER} FROM items i`).pluck().all() ?? [];
      const revisions = new Map(present.map((number) => [itemIn(number), number]));
      for (const id of evidence.keys()) if (id > (revisions.get(itemIn(id)) ?? 0)) evidence.delete(id);
      const published = db?.prepare<[], string>(PUBLISHED_AT_REST).pluck().all() ?? [];
      withdrawnSinceBackup = new Set(published.filter((item) => withdrawn.has(item)));
    },
    wasWithdrawnSinceBackup: (item) => withdrawnSinceBackup.has(item),
    hasRestored: () => hasRestored,
    died() {
      deaths += 1;
      for (const key of underWay.values()) {
        for (const one of written.get(key)?.carried ?? []) note(one, 'unclear');
      }
      underWay = new Map();
    },
    sentUnder: (key) => (written.get(key)?.carried ?? []).map(({ item }) => item),
    evidenceFor: (deliveryId) => evidence.get(deliveryId) ?? new Set(),
    wasUnclear: (item) => unclear.has(item),
    creations: (item) => created.get(item) ?? 0,
  };
}

/** Passports that were published and have no open delivery, by kind and key. */
const PUBLISHED_AT_REST = `SELECT i.kind || ' ' || i.key FROM items i
  WHERE i.kind = 'passport' AND i.baseline ->> '$.status' = 'published' AND NOT (${IS_OPEN})`;

interface FoundRow extends Carried {
  /** Whether it is sent in an import. */
  isMember: 0 | 1;
  state: string;
  path: string | null;
  body: string | null;
}

function evidenceIn(exchange: Exchange): Evidence {
  if (exchange.kind === 'silence') return exchange.sent ? 'unclear' : 'turned away';
  const { status, cut } = exchange;
  if (cut !== null) return 'unclear';
  if (status === 409) return 'conflict';
  if ([401, 402, 403, 429].includes(status)) return 'turned away';
  // Only the text of a 503 can prove that the platform did not work on the request.
  if (status === 503) return exchange.body.includes(TURNED_AWAY) ? 'turned away' : 'unclear';
  if (status >= 300 && status < 500 && status !== 408) return 'refused';
  // The body of an accepted import may refuse some of its members, and a page is no answer to a write.
  return status < 300 && exchange.body.startsWith('{') ? 'accepted' : 'unclear';
}
