// What is stuck, grouped by cause, with the members of each group.

import {
  adviceOnDelivery,
  adviceOnFailedRun,
  adviceOnIssue,
  type Delivered,
  isGuardedChange,
} from '../../domain/advice.ts';
import { NO_REASON, storedReason } from '../../domain/delivery/stored-reason.ts';
import { type ForeignCode, foundText, type Issue } from '../../domain/issue.ts';
import type { SubjectKind } from '../../domain/item.ts';
import { type MappedFields, unmappedCure } from '../../domain/passport.ts';
import type { GuardedRead } from '../../domain/ports/intake.ts';
import type {
  Cause,
  CauseMember,
  CauseNote,
  CauseType,
  Listed,
  ListPage,
} from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-views.ts';
import { sentence } from '../../lib/errors.ts';
import { itemState } from '../items/missing.ts';
import {
  causeId,
  FIRST_CODE,
  FIRST_FIELD,
  findStuckGroup,
  IS_QUARANTINED,
  type ItemGroup,
  NEEDS_PERSON,
  type RecordGroup,
  SHAPE,
  type StuckGroup,
  stuckGroups,
} from '../items/stuck-groups.ts';
import { parseJsonOrNull, perDatabase, statement } from '../store/tx.ts';
import { guardedReads, type QuarantineRow, quarantinedRecord, runsOf } from '../views/source-views.ts';
import type { Db } from '../views/view-reads.ts';
import type { DashboardReads } from './catalog.ts';
import { limitOf, pageOfRows, placeOf } from './lists.ts';

/** A cause without what people and passports add to it. */
type Found = Omit<Cause, 'note' | 'passportsHeld'>;

const EXAMPLE_MAX = 200;

/** The first item of a group. */
interface FirstItem extends Omit<Delivered, 'reason'> {
  id: number;
  reason: string | null;
  rowSource: string | null;
  rowStream: string | null;
}

const CAUSES = {
  issues: statement<[string], { id: number; issues: string | null }>(
    'SELECT r.id, r.issues FROM json_each(?) e CROSS JOIN records r ON r.id = e.value',
  ),
  // The row of the product says which fields the mapping gives to the passport.
  items: statement<[string], FirstItem>(
    `SELECT i.id, i.reason, i.kind, i.key, i.natural_key AS naturalKey, i.source, i.state, s.source AS rowSource, s.name AS rowStream
     FROM json_each(?) e CROSS JOIN items i ON i.id = e.value
     LEFT JOIN items p ON i.kind = 'passport' AND p.kind = 'product' AND p.key = i.key
     LEFT JOIN records r ON r.id = p.record_id LEFT JOIN streams s ON s.id = r.stream_id`,
  ),
  notes: statement<[], CauseNote & { cause: string }>(
    'SELECT cause, text, owner, noted_by AS by, noted_at AS at FROM cause_notes',
  ),
};

/**
 * The causes of stuck items and records. The cause that keeps the most passports from being published comes first; where that number
 * is not known, it may be all of them.
 */
export function listCauses(
  reads: DashboardReads,
  { source, type }: { source?: string | undefined; type?: CauseType | undefined },
): Cause[] {
  const fits = (cause: Cause) =>
    (source === undefined || cause.source === source) && (type === undefined || cause.type === type);
  return allCauses(reads).filter(fits);
}

export function findCause(reads: DashboardReads, id: string): Cause | null {
  return allCauses(reads).find((cause) => cause.id === id) ?? null;
}

function allCauses(reads: DashboardReads): Cause[] {
  const notes = new Map(
    CAUSES.notes(reads)
      .all()
      .map(({ cause, ...note }) => [cause, note]),
  );
  const groups = stuckGroups(reads);
  const held = passportsHeld(reads, groups);
  const noted = (found: Found): Cause => ({
    ...found,
    passportsHeld: held.get(found.id) ?? null,
    note: notes.get(found.id) ?? null,
  });
  const causes = [...causesOfGroups(reads, groups), ...failedRuns(reads).map(causeOfRuns)].map(noted);
  const heldBy = ({ passportsHeld: held }: Cause): number => held ?? Number.MAX_SAFE_INTEGER;
  return causes.sort((a, b) => heldBy(b) - heldBy(a) || b.count - a.count || (a.id < b.id ? -1 : 1));
}

/** Makes each cause from the first member of its group. */
function causesOfGroups(reads: DashboardReads, groups: readonly StuckGroup[]): Found[] {
  const held = guardedReads(reads);
  const firsts = (isOfRecords: boolean) =>
    JSON.stringify(groups.filter(({ type }) => (type === 'quarantine') === isOfRecords).map(({ firstId }) => firstId));
  const records = new Map(
    CAUSES.issues(reads)
      .all(firsts(true))
      .map((row) => [row.id, row.issues]),
  );
  const items = new Map(
    CAUSES.items(reads)
      .all(firsts(false))
      .map((row) => [row.id, row]),
  );
  return groups.map((group) =>
    group.type === 'quarantine'
      ? causeOfRows(group, records.get(group.firstId) ?? null)
      : causeOfItems(group, items.get(group.firstId), { held, mappedFields: reads.passportRules.mappedFields }),
  );
}

function causeOfRows(group: RecordGroup, issues: string | null): Found {
  const { id, type, source, stream, count, since, until } = group;
  const code = (group.code ?? 'unknown') as ForeignCode;
  const [first] = parseJsonOrNull<Issue[]>(issues) ?? [];
  const issue: Issue = first ?? { code, message: 'No reason was kept.' };
  const value = issue.value === undefined ? null : shown(foundText(issue));
  const common = { id, type, source, stream, code, field: group.field, count };
  const seen = { firstSeenAt: since, lastSeenAt: until };
  return { ...common, ...seen, ...adviceOnIssue(issue, source), example: value };
}

function causeOfItems(
  group: ItemGroup,
  first: FirstItem | undefined,
  { held, mappedFields }: { held: readonly GuardedRead[]; mappedFields: readonly MappedFields[] },
): Found {
  const { id, type, source, count, since, until } = group;
  const reason = storedReason(first?.reason ?? null) ?? { ...NO_REASON, message: 'No reason was kept.' };
  const [field = null] = Object.keys(reason.fields ?? {});
  const common = { id, type, source, stream: null, code: reason.code, field, count };
  const seen = { firstSeenAt: since, lastSeenAt: until };
  const item = { kind: 'product' as const, key: '', naturalKey: null, source, state: group.state, ...first, reason };
  const { rowSource = null, rowStream = null } = first ?? {};
  const from = rowSource === null || rowStream === null ? null : { source: rowSource, stream: rowStream };
  const advice = adviceOnDelivery(item, {
    isGuarded: isGuardedChange(item, () => held),
    unmapped: item.kind === 'passport' ? unmappedCure(reason, from, mappedFields) : null,
  });
  return { ...common, ...seen, ...advice, example: first?.key ?? null };
}

function causeOfRuns({ id, source, error, count, since, until }: FailedRuns): Found {
  const common = { id, type: 'run' as const, source, stream: null, code: 'run.failed', field: null };
  const example = error === null ? null : shown(sentence(error));
  return { ...common, ...adviceOnFailedRun(source), firstSeenAt: since, lastSeenAt: until, count, example };
}

function shown(text: string): string {
  return text.length <= EXAMPLE_MAX ? text : `${text.slice(0, EXAMPLE_MAX - 1)}…`;
}

/** The failed runs of a source since its last complete run. */
interface FailedRuns {
  id: string;
  source: string;
  error: string | null;
  count: number;
  /** When the first of these runs began, and when the last one did. */
  since: number;
  until: number;
  /** The newest first. */
  runs: number[];
}

interface EndedRun {
  id: number;
  source: string;
  startedAt: number;
  result: string;
  error: string | null;
}

/** How many of the last runs of a source are looked at. */
const RUNS_MAX = 100;
// An upload of corrected rows does not read the source, so it does not end a failure.
const LAST_RUNS = statement<[], EndedRun>(
  `SELECT id, source, startedAt, result, error FROM (
     SELECT id, source, started_at AS startedAt, result, error, row_number() OVER (PARTITION BY source ORDER BY id DESC) AS place
     FROM runs WHERE cause <> 'upload') r
   WHERE place <= ${RUNS_MAX} AND result IS NOT NULL AND result <> 'interrupted' ORDER BY source, id DESC`,
);

/** Finds the sources whose last run has failed, with all runs that have failed since the last complete run. */
function failedRuns(reads: Db): FailedRuns[] {
  const bySource = Map.groupBy(LAST_RUNS(reads).all(), ({ source }) => source);
  return [...bySource].flatMap(([source, ended]) => {
    const sound = ended.findIndex(({ result }) => result !== 'failed');
    const failed = sound < 0 ? ended : ended.slice(0, sound);
    const [last] = failed;
    const first = failed.at(-1);
    if (last === undefined || first === undefined) return [];
    const common = { id: causeId('run', source), source, error: last.error, count: failed.length };
    return [{ ...common, since: first.startedAt, until: last.startedAt, runs: failed.map(({ id }) => id) }];
  });
}

/** The passports of a group with more members are not counted, because counting takes too long. */
const MEMBERS_MAX = 20_000;
/** How many members one call looks at. A later call counts the rest. */
const LOOKED_AT_MAX = 25_000;
/** For this long a count of a group with the same members is used again. Meanwhile some passports may have been withdrawn. */
const KEPT_MS = 60_000;

/** SQL condition: true if everybody can see the passport of the product with this key. Nothing keeps it from being published. */
const isPublished = (key: string) =>
  `EXISTS (SELECT 1 FROM items q WHERE q.kind = 'passport' AND q.key = ${key} AND q.baseline = '{"status":"published"}')`;
/**
 * The products that contain one of the `members`, as a material or as a component. Their BOM items wait for it, and so do their
 * passports.
 */
const PRODUCTS_WITH_PART = `SELECT m.cause, f.key FROM members m CROSS JOIN refs u ON u.kind IN ('product', 'material') AND u.key = m.key
         AND u.role <> 'product' AND (u.kind = m.kind OR u.either = 1)
         JOIN refs f ON f.item_id = u.item_id AND f.role = 'product' WHERE m.kind IN ('material', 'product')`;
const HELD = {
  // A row whose product is unknown blocks the passports of all products.
  byRecords: statement<[string], { id: string; held: number; all: number | null }>(
    `WITH stuck AS MATERIALIZED (SELECT e.value ->> '$.id' AS cause, r.id
       FROM json_each(?) e CROSS JOIN records r INDEXED BY records_by_issue
       WHERE ${IS_QUARANTINED} AND r.stream_id = CAST(e.value ->> '$.streamId' AS INTEGER) AND ${FIRST_CODE} IS e.value ->> '$.code'
         AND ${FIRST_FIELD} IS e.value ->> '$.field'),
     members AS MATERIALIZED (
       SELECT w.cause, 'product' AS kind, h.product_key AS key FROM stuck w CROSS JOIN holds h ON h.record_id = w.id
       UNION SELECT w.cause, 'material', m.material_key FROM stuck w CROSS JOIN held_materials m ON m.record_id = w.id)
     SELECT p.cause AS id, count(p.key) AS held, max(p.key IS NULL) AS "all" FROM (
       SELECT cause, key FROM members WHERE kind = 'product' UNION ${PRODUCTS_WITH_PART}) p
     WHERE p.key IS NULL OR NOT ${isPublished('p.key')} GROUP BY 1`,
  ),
  // A product blocks its own passport, and a BOM item blocks the passport of its product.
  byItems: statement<[string], { id: string; held: number; all: null }>(
    `WITH members AS MATERIALIZED (SELECT e.value ->> '$.id' AS cause, i.id, i.kind, i.key
       FROM json_each(?) e CROSS JOIN items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON}
         AND i.state = e.value ->> '$.state' AND ${SHAPE} = e.value ->> '$.shape' AND i.source = e.value ->> '$.source')
     SELECT p.cause AS id, count(*) AS held, NULL AS "all" FROM (
       SELECT cause, key FROM members WHERE kind IN ('product', 'passport')
       UNION SELECT m.cause, f.key FROM members m JOIN refs f ON f.item_id = m.id AND f.role = 'product' WHERE m.kind = 'bom_item'
       UNION ${PRODUCTS_WITH_PART}) p
     WHERE NOT ${isPublished('p.key')} GROUP BY 1`,
  ),
};

/** The counts of groups, as long as they are used again. */
const keptCounts = perDatabase(() => new Map<string, { of: string; held: number | null; until: number }>());

/** How many passports the members of each group keep from being published, by the group's id; null if that is not known. */
function passportsHeld(reads: DashboardReads, groups: readonly StuckGroup[]): Map<string, number | null> {
  const kept = keptCounts(reads);
  const nameOf = ({ count, firstId, since }: StuckGroup) => `${count} ${firstId} ${since}`;
  let left = LOOKED_AT_MAX;
  const counted = groups.filter((group) => {
    const known = kept.get(group.id);
    if (known?.of === nameOf(group) && reads.now() < known.until) return false;
    if (group.count > MEMBERS_MAX || group.count > left) return false;
    left -= group.count;
    return true;
  });
  const ofRecords = counted.filter(({ type }) => type === 'quarantine');
  const ofItems = counted.filter(({ type }) => type !== 'quarantine');
  const rows = [
    ...(ofRecords.length === 0 ? [] : HELD.byRecords(reads).all(JSON.stringify(ofRecords))),
    ...(ofItems.length === 0 ? [] : HELD.byItems(reads).all(JSON.stringify(ofItems))),
  ];
  const found = new Map(rows.map(({ id, held, all }) => [id, all === 1 ? null : held]));
  for (const group of counted) {
    const held = found.get(group.id);
    kept.set(group.id, { of: nameOf(group), held: held === undefined ? 0 : held, until: reads.now() + KEPT_MS });
  }
  return new Map(
    groups.map((group) => {
      const known = kept.get(group.id);
      return [group.id, known?.of === nameOf(group) ? known.held : null];
    }),
  );
}

interface ItemRow {
  id: number;
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  name: string | null;
  revision: number;
  state: ItemState;
  since: number | null;
  reason: string | null;
}

type Bounds = { after: number; limit: number };
type StoredRecord = Pick<QuarantineRow, 'id' | 'key' | 'place' | 'raw' | 'issues'>;

const MEMBERS = {
  records: statement<[Pick<RecordGroup, 'streamId' | 'code' | 'field'> & Bounds], StoredRecord>(
    `SELECT r.id, r.key, r.place, r.raw, r.issues FROM records r INDEXED BY records_by_issue
     WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field
       AND r.id > @after ORDER BY r.id LIMIT @limit`,
  ),
  items: statement<[Pick<ItemGroup, 'state' | 'shape' | 'source'> & Bounds], ItemRow>(
    `SELECT i.id, i.kind, i.key, i.natural_key AS naturalKey, i.desired ->> '$.name' AS name, i.revision,
       ${itemState('i')} AS state, i.settled_at AS since, i.reason
     FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} AND i.state = @state AND ${SHAPE} = @shape
       AND i.source = @source AND i.id > @after ORDER BY i.id LIMIT @limit`,
  ),
};

/** The group that was found last. To find a group, all its members are counted: the pages of one download do that once. */
const lastFound = perDatabase(() => ({ group: null as StuckGroup | null }));

function groupOf(reads: Db, id: string, after: number): StuckGroup | null {
  const last = lastFound(reads);
  if (after === 0 || last.group?.id !== id) last.group = findStuckGroup(reads, id);
  return last.group;
}

/** The members of a cause, in the order of their ids. */
export function causeMembers(reads: DashboardReads, id: string, asked: ListPage): Listed<CauseMember> {
  const limit = limitOf(asked);
  const after = Number(placeOf(asked).after?.[0] ?? 0);
  const { count, members } = membersOf(reads, id, { after, limit: limit + 1 });
  const { rows, next } = pageOfRows(members, limit);
  return { rows: rows.map(({ member }) => member), next, total: { count, atLeast: false } };
}

function membersOf(
  reads: DashboardReads,
  id: string,
  bounds: Bounds,
): { count: number; members: { id: number; member: CauseMember }[] } {
  const none: CauseMember = { record: null, item: null, run: null };
  const group = groupOf(reads, id, bounds.after);
  if (group === null) {
    const failed = failedRuns(reads).find((one) => one.id === id);
    const ids = (failed?.runs ?? []).toReversed().filter((run) => run > bounds.after);
    const runs = runsOf(reads, ids.slice(0, bounds.limit));
    return { count: failed?.count ?? 0, members: runs.map((run) => ({ id: run.id, member: { ...none, run } })) };
  }
  if (group.type === 'quarantine') {
    const { streamId, code, field, source, stream } = group;
    const rows = MEMBERS.records(reads).all({ streamId, code, field, ...bounds });
    const members = rows.map((row) => ({
      id: row.id,
      member: { ...none, record: quarantinedRecord({ ...row, source, stream }) },
    }));
    return { count: group.count, members };
  }
  const { state, shape, source } = group;
  const rows = MEMBERS.items(reads).all({ state, shape, source, ...bounds });
  const members = rows.map(({ id: itemId, reason, ...item }) => {
    const stored = storedReason(reason) ?? { ...NO_REASON, message: 'No reason was kept.' };
    return { id: itemId, member: { ...none, item: { ...item, reason: stored } } };
  });
  return { count: group.count, members };
}
