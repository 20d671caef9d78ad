// The items that wait for an item that no row gives, such as a BOM item whose material is in no file. They are grouped by the source
// that names the missing item, and by its kind.

import { adviceOnMissingParts, type MissingKind } from '../../domain/advice.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { ItemKind } from '../../domain/item.ts';
import type { CauseMember, FoundCause } from '../../domain/ports/ledger/dashboard-views.ts';
import { causeId, IS_QUARANTINED } from '../items/stuck-groups.ts';
import { changeCountOf } from '../store/database.ts';
import { column, perDatabase, statement } from '../store/tx.ts';
import type { DashboardReads } from './catalog.ts';
import { isPublished, VALUES_MAX } from './group-figures.ts';

/** At most this many waiting items are looked at, the oldest first: what waits for a sent item does not wait for long. */
const LOOKED_AT_MAX = 50_000;
/** If more items than this wait, the result is used again for a time. */
const FEW = 500;
const KEPT_MS = 10_000;

/** An item that waits for a missing one. */
interface Waiting {
  id: number;
  source: string;
  kind: MissingKind;
  /** The key of the missing item. */
  missing: string;
  /** The product whose passport waits. */
  product: string;
  since: number | null;
}

/** How far a source of the config was read. The flags are 0 or 1. */
interface Reading {
  source: string;
  /** Whether it is being read. */
  isRead: number;
  /** Whether it was never read completely. */
  isUnread: number;
  /** Whether no read of it has ended. */
  isNew: number;
  /** While it is read or mapped: when that read began. What was staged since then may find its part in the rest of the read. */
  before: number | null;
}

const NAMED_IN_QUARANTINE = `SELECT h.product_key FROM holds h JOIN records r ON r.id = h.record_id
  WHERE h.product_key IS NOT NULL AND ${IS_QUARANTINED}
  UNION SELECT m.material_key FROM held_materials m JOIN records r ON r.id = m.record_id WHERE ${IS_QUARANTINED}`;
/** SQL condition: true if a row gives the item with this key, or the platform has it. */
const isGiven = (kind: string, key: string) =>
  `EXISTS (SELECT 1 FROM items t WHERE t.kind = ${kind} AND t.key = ${key}
     AND ((t.record_id IS NOT NULL AND t.missing_since IS NULL) OR nullif(t.remote_id, 'null') IS NOT NULL))`;
const SQL = {
  count: column<[], number>("SELECT count(*) FROM items WHERE state = 'waiting'"),
  reading: statement<[string], Reading>(
    `SELECT e.value AS source, r.ended_at IS NULL AND r.id IS NOT NULL AS isRead,
       NOT EXISTS (SELECT 1 FROM runs c WHERE c.source = e.value AND c.result = 'complete' AND c.cause <> 'upload')
         AND NOT EXISTS (SELECT 1 FROM streams s WHERE s.source = e.value AND s.complete_read IS NOT NULL) AS isUnread,
       NOT EXISTS (SELECT 1 FROM runs c WHERE c.source = e.value AND c.ended_at IS NOT NULL AND c.cause <> 'upload') AS isNew,
       CASE WHEN r.ended_at IS NULL OR EXISTS (SELECT 1 FROM streams s JOIN records w ON w.stream_id = s.id AND w.state = 'pending'
         WHERE s.source = e.value) THEN r.started_at END AS before
     FROM json_each(?) e LEFT JOIN runs r ON r.id = (SELECT max(l.id) FROM runs l WHERE l.source = e.value AND l.cause <> 'upload')
     ORDER BY e.key`,
  ),
  waiting: statement<[{ before: number | null; limit: number }], Waiting>(
    `SELECT w.id, w.source, CASE WHEN f.either = 1 THEN 'part' ELSE f.kind END AS kind, f.key AS missing,
       coalesce((SELECT p.key FROM refs p WHERE p.item_id = w.id AND p.role = 'product'), w.key) AS product, w.staged_at AS since
     FROM (SELECT i.id, i.source, i.key, i.staged_at, i.missing_since FROM items i WHERE i.state = 'waiting' ORDER BY i.id LIMIT @limit) w
     CROSS JOIN refs f ON f.item_id = w.id
     WHERE w.missing_since IS NULL AND (@before IS NULL OR w.staged_at < @before) AND NOT ${isGiven('f.kind', 'f.key')}
       AND NOT (f.either = 1 AND ${isGiven("'material'", 'f.key')}) AND f.key NOT IN (${NAMED_IN_QUARANTINE})
     ORDER BY w.id, f.role`,
  ),
  unpublished: column<[string], string>(
    `SELECT e.value FROM json_each(?) e WHERE NOT ${isPublished('e.value')}
     AND EXISTS (SELECT 1 FROM items p WHERE p.kind = 'product' AND p.key = e.value)`,
  ),
  members: statement<[string], Omit<NonNullable<CauseMember['item']>, 'reason' | 'state' | 'since'> & { id: number }>(
    `SELECT i.id, i.kind, i.key, i.natural_key AS naturalKey, i.desired ->> '$.name' AS name, i.revision
     FROM json_each(?) e CROSS JOIN items i ON i.id = e.value ORDER BY i.id`,
  ),
};

const keptWaiting = perDatabase(() => ({
  version: null as number | null,
  sources: '',
  until: 0,
  waiting: [] as Waiting[],
  readings: [] as Reading[],
  /** Whether more items wait than were looked at. */
  isPart: false,
}));

type Reads = Pick<DashboardReads, 'db' | 'passportRules' | 'now'>;

/** The items that wait for missing ones, each for the first of them, in the order of their ids. */
function waitingItems(reads: Reads): Waiting[] {
  const kept = keptWaiting(reads);
  const version = changeCountOf(reads.db);
  const sources = JSON.stringify(reads.passportRules.sources);
  if (kept.sources === sources && (kept.version === version || reads.now() < kept.until)) return kept.waiting;
  const count = SQL.count(reads).get() ?? 0;
  const readings = count === 0 ? [] : SQL.reading(reads).all(sources);
  const begun = readings.flatMap(({ before }) => before ?? []);
  const before = begun.length === 0 ? null : Math.min(...begun);
  const found = count === 0 ? [] : SQL.waiting(reads).all({ before, limit: LOOKED_AT_MAX });
  const kinds = new Set(found.map(({ kind }) => kind));
  const coming = new Set([...kinds].filter((kind) => mayStillCome(reads, readings, kind)));
  const waiting = found.filter(({ id, kind }, at) => found[at - 1]?.id !== id && !coming.has(kind));
  const isPart = count > LOOKED_AT_MAX;
  Object.assign(kept, { version, sources, waiting, readings, isPart, until: count > FEW ? reads.now() + KEPT_MS : 0 });
  return waiting;
}

/** The sources whose rows may make items of this kind. No source of products alone gives a material. */
function giversOf(reads: Reads, readings: readonly Reading[], kind: MissingKind): Reading[] {
  const { partSources } = reads.passportRules;
  return kind === 'material' ? readings.filter(({ source }) => partSources.includes(source)) : [...readings];
}

/** True during the first reads of the sources: a source that comes later may have the missing rows. */
function mayStillCome(reads: Reads, readings: readonly Reading[], kind: MissingKind): boolean {
  if (!readings.some(({ isRead }) => isRead === 1)) return false;
  return giversOf(reads, readings, kind).some(({ isNew, isUnread }) => isNew === 1 && isUnread === 1);
}

/** The sources that may have missing items of this kind, and that were not read completely yet. */
function unreadGivers(reads: Reads, kind: MissingKind): string[] {
  const { readings } = keptWaiting(reads);
  return giversOf(reads, readings, kind).flatMap(({ source, isUnread }) => (isUnread === 1 ? [source] : []));
}

const idOf = ({ source, kind }: Pick<Waiting, 'source' | 'kind'>) => causeId('part', source, kind);

/** The id of the cause of an item that waits for one that no row gives; null if there is no such cause now. */
export function causeOfMissing(
  reads: Reads,
  source: string,
  { kind, either }: { kind: ItemKind; either?: boolean | undefined },
): string | null {
  const id = idOf({ source, kind: either === true ? 'part' : kind });
  return waitingItems(reads).some((one) => idOf(one) === id) ? id : null;
}

export function causesOfMissingParts(reads: DashboardReads): FoundCause[] {
  const groups = Map.groupBy(waitingItems(reads), idOf);
  if (groups.size === 0) return [];
  const products = JSON.stringify([...new Set(waitingItems(reads).map(({ product }) => product))]);
  const lookedAt = keptWaiting(reads).isPart ? LOOKED_AT_MAX : null;
  const unpublished = new Set(SQL.unpublished(reads).all(products));
  return [...groups].flatMap(([id, members]): FoundCause[] => {
    const [first] = members;
    if (first === undefined) return [];
    const byKey = [...Map.groupBy(members, ({ missing }) => missing)]
      .map(([value, { length: count }]) => ({ value, count }))
      .toSorted((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    const times = members.flatMap(({ since }) => since ?? []);
    return [
      {
        id,
        type: 'part',
        source: first.source,
        stream: null,
        code: 'part.missing',
        field: null,
        count: members.length,
        ...adviceOnMissingParts(first.kind, first.source, { unread: unreadGivers(reads, first.kind), lookedAt }),
        passportsHeld: new Set(members.map(({ product }) => product).filter((key) => unpublished.has(key))).size,
        firstSeenAt: times.length === 0 ? null : Math.min(...times),
        lastSeenAt: times.length === 0 ? null : Math.max(...times),
        example: byKey[0]?.value ?? null,
        values: byKey.slice(0, VALUES_MAX),
        otherValues: Math.max(0, byKey.length - VALUES_MAX),
      },
    ];
  });
}

interface Asked {
  after: number;
  limit: number;
  value: string | null;
}

/** The members of such a cause; null if there is no such cause. */
export function membersOfMissing(reads: DashboardReads, id: string, { after, limit, value }: Asked) {
  const members = waitingItems(reads).filter((one) => idOf(one) === id);
  if (members.length === 0) return null;
  const fitting = members.filter(({ missing }) => value === null || missing === value);
  const page = new Map(
    fitting
      .filter((one) => one.id > after)
      .slice(0, limit)
      .map((one) => [one.id, one]),
  );
  const rows = SQL.members(reads).all(JSON.stringify([...page.keys()]));
  return {
    count: fitting.length,
    members: rows.map(({ id: itemId, ...item }) => {
      const { since = null, missing = '', kind = 'part' as const } = page.get(itemId) ?? {};
      const reason: Reason = { code: 'unknown', message: `Its ${kind} ${missing} is in no file.` };
      const member: CauseMember = { record: null, run: null, item: { ...item, state: 'waiting', since, reason } };
      return { id: itemId, member };
    }),
  };
}
