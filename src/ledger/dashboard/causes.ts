import { NO_REASON, storedReason } from '../../domain/delivery/reason.ts';
import { foundText, type Issue } from '../../domain/issue.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { Place } from '../../domain/place.ts';
import type {
  Cause,
  CauseMember,
  CauseNote,
  DashboardViews,
  Listed,
  RowInQuarantine,
} from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState, RunView } from '../../domain/ports/ledger/ledger-views.ts';
import type { JsonObject } from '../../lib/json.ts';
import { sentence } from '../../lib/text/sentence.ts';
import {
  causeId,
  causeOfRecords,
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
} from '../deliveries/stuck-groups.ts';
import { itemState } from '../items/missing.ts';
import type { Sqlite } from '../store/database.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';
import type { QuarantineRow } from '../views/views.ts';
import { cureOfReason, titleOfIssue, titleOfReason } from './cause-text.ts';
import { limitOf, placeOf, placeText } from './lists.ts';

const EXAMPLE_MAX = 200;

/** Groups stuck items and records by cause. `now` gives milliseconds of a clock that is never set back. */
export function createCauses(
  db: Sqlite,
  failedRuns: () => FailedRuns[],
  now: () => number,
): Pick<DashboardViews, 'causes' | 'cause'> {
  const held = createHeldPassports(db, now);
  const sql = {
    issues: db.prepare<[number], string | null>('SELECT issues FROM records WHERE id = ?').pluck(),
    item: db.prepare<[number], { reason: string | null; key: string }>('SELECT reason, key FROM items WHERE id = ?'),
    notes: db.prepare<[], CauseNote & { cause: string }>(
      'SELECT cause, text, owner, noted_by AS by, noted_at AS at FROM cause_notes',
    ),
  };

  function ofRecords(group: RecordGroup): Omit<Cause, 'note' | 'passportsHeld'> {
    const { id, type, source, stream, count, since, until, firstId } = group;
    const code = group.code ?? 'unknown';
    const [first] = parseJsonOrNull<Issue[]>(sql.issues.get(firstId) ?? null) ?? [];
    const issue: Issue = first ?? { code, message: 'No reason was kept.' };
    const value = issue.value === undefined ? null : shown(foundText(issue));
    const common = { id, type, source, stream, code, field: group.field, count };
    const seen = { firstSeenAt: since, lastSeenAt: until };
    return { ...common, ...seen, title: titleOfIssue(issue), cure: issue.cure ?? null, example: value };
  }

  function ofItems(group: ItemGroup): Omit<Cause, 'note' | 'passportsHeld'> {
    const { id, type, source, count, since, until, firstId } = group;
    const item = sql.item.get(firstId);
    const reason = storedReason(item?.reason ?? null) ?? { ...NO_REASON, message: 'No reason was kept.' };
    const [field = null] = Object.keys(reason.fields ?? {});
    const common = { id, type, source, stream: null, code: reason.code, field, count };
    const seen = { firstSeenAt: since, lastSeenAt: until };
    return { ...common, ...seen, title: titleOfReason(reason), cure: cureOfReason(reason), example: item?.key ?? null };
  }

  function all(): Cause[] {
    const notes = new Map(sql.notes.all().map(({ cause, ...note }) => [cause, note]));
    const budget = newBudget();
    const stuck = stuckGroups({ db }).map((group): Cause => {
      const cause = group.type === 'quarantine' ? ofRecords(group) : ofItems(group);
      return { ...cause, passportsHeld: held(group, budget), note: notes.get(cause.id) ?? null };
    });
    const runs = failedRuns().map(({ id, source, error, count, since, until }): Cause => {
      const note = notes.get(id) ?? null;
      const title = `The last run of ${source} failed.`;
      const common = { id, type: 'run' as const, source, stream: null, code: 'run.failed', field: null };
      const cure = 'Correct the cause that the error names, and run the source again.';
      const example = error === null ? null : shown(sentence(error));
      const seen = { firstSeenAt: since, lastSeenAt: until };
      return { ...common, ...seen, title, cure, count, passportsHeld: null, note, example };
    });
    return [...stuck, ...runs].sort((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
  }

  return {
    causes: ({ source, type }) =>
      all().filter(
        (cause) => (source === undefined || cause.source === source) && (type === undefined || cause.type === type),
      ),
    cause: (id) => all().find((cause) => cause.id === id) ?? null,
  };
}

function shown(text: string): string {
  return text.length <= EXAMPLE_MAX ? text : `${text.slice(0, EXAMPLE_MAX - 1)}…`;
}

/** The failed runs of a source since its last complete run. */
export interface FailedRuns {
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

const RUNS_MAX = 100;

/**
 * Finds the sources whose last run has failed, with all runs that have failed since the last complete run. An upload of corrected rows does not
 * read the source, so it does not end such a failure.
 */
export function createFailedRuns(db: Sqlite): () => FailedRuns[] {
  const sources = db
    .prepare<[], string>('SELECT DISTINCT source FROM streams UNION SELECT DISTINCT source FROM runs')
    .pluck();
  const runs = db.prepare<[string], { id: number; startedAt: number; result: string | null; error: string | null }>(
    `SELECT id, started_at AS startedAt, result, error FROM runs WHERE source = ? AND cause <> 'upload'
     ORDER BY id DESC LIMIT ${RUNS_MAX}`,
  );

  return () =>
    sources.all().flatMap((source) => {
      const ended = runs.all(source).filter(({ result }) => result !== null && result !== 'interrupted');
      const sound = ended.findIndex(({ result }) => result !== 'failed');
      const failed = sound < 0 ? ended : ended.slice(0, sound);
      const [last] = failed;
      const first = failed.at(-1);
      if (last === undefined || first === undefined) return [];
      return [
        {
          id: causeId('run', source),
          source,
          error: last.error,
          count: failed.length,
          since: first.startedAt,
          until: last.startedAt,
          runs: failed.map(({ id }) => id),
        },
      ];
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

/** How many passports the members of a group keep from being published; null if that is not known. */
export type HeldPassports = (group: StuckGroup, budget: { left: number }) => number | null;

function newBudget(): { left: number } {
  return { left: LOOKED_AT_MAX };
}

/** Counts by group. `now` gives milliseconds of a clock that is never set back. */
function createHeldPassports(db: Sqlite, now: () => number): HeldPassports {
  const sql = {
    ofRecords: db.prepare<
      [{ streamId: number; code: string | null; field: string | null }],
      { held: number; all: number | null }
    >(
      `SELECT count(DISTINCT iif(${isPublished('h.product_key')}, NULL, h.product_key)) AS held,
         max(h.product_key IS NULL) AS "all"
       FROM records r INDEXED BY records_by_issue CROSS JOIN holds h ON h.record_id = r.id
       WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field`,
    ),
    // A product blocks its own passport, a BOM item blocks the passport of its product, and a material blocks the
    // passports of the products that contain it.
    ofItems: db
      .prepare<[{ state: string; shape: string; source: string }], number>(
        `WITH members AS MATERIALIZED (SELECT i.id, i.kind, i.key FROM items i INDEXED BY items_by_reason
           WHERE ${NEEDS_PERSON} AND i.state = @state AND ${SHAPE} = @shape AND i.source = @source)
         SELECT count(*) FROM (
           SELECT key FROM members WHERE kind IN ('product', 'passport')
           UNION SELECT f.key FROM members m JOIN refs f ON f.item_id = m.id AND f.role = 'product' WHERE m.kind = 'bom_item'
           UNION SELECT f.key FROM members m CROSS JOIN refs u ON u.kind = 'material' AND u.key = m.key
             JOIN refs f ON f.item_id = u.item_id AND f.role = 'product' WHERE m.kind = 'material') p
         WHERE NOT ${isPublished('p.key')}`,
      )
      .pluck(),
  };
  const known = new Map<string, { of: string; held: number | null; until: number }>();

  function count(group: StuckGroup): number | null {
    if (group.type !== 'quarantine') return sql.ofItems.get(group) ?? 0;
    const { streamId, code, field } = group;
    const row = sql.ofRecords.get({ streamId, code, field });
    // A row whose product is unknown blocks the passports of all products.
    return row === undefined || row.all === 1 ? null : row.held;
  }

  return (group, budget) => {
    const of = `${group.count} ${group.firstId} ${group.since}`;
    const before = known.get(group.id);
    if (before?.of === of && now() < before.until) return before.held;
    if (group.count > MEMBERS_MAX || group.count > budget.left) return before?.held ?? null;
    budget.left -= group.count;
    const held = count(group);
    known.set(group.id, { of, held, until: now() + KEPT_MS });
    return held;
  };
}

interface RecordRow {
  id: number;
  key: string;
  place: string;
  raw: string;
  issues: string | null;
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

/** The members of a cause, in the order of their ids. */
export function createCauseMembers(
  db: Sqlite,
  parts: { failedRuns: () => FailedRuns[]; run: (id: number) => RunView | null },
): Pick<DashboardViews, 'causeMembers'> {
  const { failedRuns, run } = parts;
  const sql = {
    records: db.prepare<[Pick<RecordGroup, 'streamId' | 'code' | 'field'> & Bounds], RecordRow>(
      `SELECT r.id, r.key, r.place, r.raw, r.issues FROM records r INDEXED BY records_by_issue
       WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field
         AND r.id > @after ORDER BY r.id LIMIT @limit`,
    ),
    items: db.prepare<[Pick<ItemGroup, 'state' | 'shape' | 'source'> & Bounds], ItemRow>(
      `SELECT i.id, i.kind, i.key, i.natural_key AS naturalKey, i.desired ->> '$.name' AS name, i.revision,
         ${itemState('i')} AS state, i.settled_at AS since, i.reason
       FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} AND i.state = @state AND ${SHAPE} = @shape
         AND i.source = @source AND i.id > @after ORDER BY i.id LIMIT @limit`,
    ),
  };

  /**
   * To find a group, all its members are counted. The found group is kept, so that the pages of one download do not
   * count them again.
   */
  let lastFound: StuckGroup | null = null;
  function groupOf(id: string, after: number): StuckGroup | null {
    if (after > 0 && lastFound?.id === id) return lastFound;
    lastFound = findStuckGroup({ db }, id);
    return lastFound;
  }

  function page<Row extends { id: number }>(
    rows: readonly Row[],
    { limit, count }: { limit: number; count: number },
    member: (row: Row) => CauseMember,
  ): Listed<CauseMember> {
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const next = rows.length > limit && last !== undefined ? placeText({ phase: 0, after: [last.id] }) : null;
    return { rows: shown.map(member), next, total: { count, atLeast: false } };
  }

  return {
    causeMembers(id, asked) {
      const limit = limitOf(asked);
      const bounds = { after: Number(placeOf(asked).after?.[0] ?? 0), limit: limit + 1 };
      const group = groupOf(id, bounds.after);
      if (group === null) {
        const failed = failedRuns().find((one) => one.id === id);
        const runs = (failed?.runs ?? []).toReversed().filter((runId) => runId > bounds.after);
        const rows = runs.map((runId) => ({ id: runId }));
        return page(rows, { limit, count: failed?.count ?? 0 }, (row) => ({
          record: null,
          item: null,
          run: run(row.id),
        }));
      }
      const { count } = group;
      if (group.type === 'quarantine') {
        const { streamId, code, field, source, stream } = group;
        return page(sql.records.all({ streamId, code, field, ...bounds }), { limit, count }, (row) => ({
          record: recordOf(row, { source, stream }),
          item: null,
          run: null,
        }));
      }
      const { state, shape, source } = group;
      return page(sql.items.all({ state, shape, source, ...bounds }), { limit, count }, (row) => ({
        record: null,
        item: itemOf(row),
        run: null,
      }));
    },
  };
}

function recordOf(
  { id, key, place, raw, issues }: RecordRow,
  of: { source: string; stream: string },
): CauseMember['record'] {
  return {
    id,
    ...of,
    key,
    place: parseJson<Place>(place),
    fields: parseJson<JsonObject>(raw),
    issues: parseJsonOrNull<Issue[]>(issues) ?? [],
  };
}

function itemOf({ kind, key, naturalKey, name, revision, state, since, reason }: ItemRow): CauseMember['item'] {
  return {
    kind,
    key,
    naturalKey,
    name,
    revision,
    state,
    since,
    reason: storedReason(reason) ?? { ...NO_REASON, message: 'No reason was kept.' },
  };
}

interface StoredRow extends QuarantineRow {
  code: string | null;
  field: string | null;
  product: string | null;
}

/** A search shows this many rows at most. The page of a cause lists all its rows. */
const FOUND_MAX = 5;

/** Rows in quarantine. The lists of items do not have them, because most of them make no item. */
export function createQuarantinedRows(db: Sqlite): Pick<DashboardViews, 'quarantinedRows' | 'searchQuarantined'> {
  const columns = `r.id, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues, ${FIRST_CODE} AS code,
    ${FIRST_FIELD} AS field, (SELECT min(h.product_key) FROM holds h WHERE h.record_id = r.id) AS product`;
  const sql = {
    byId: db.prepare<[string], StoredRow>(
      `SELECT ${columns} FROM json_each(?) e CROSS JOIN records r ON r.id = e.value JOIN streams s ON s.id = r.stream_id
       WHERE ${IS_QUARANTINED} ORDER BY e.key`,
    ),
    // No index finds a part of a key, so this statement reads the keys of all rows in quarantine and of all products that wait for
    // such a row. The index contains the keys of the rows, and the subquery runs once.
    search: db.prepare<[{ part: string; source: string | null; limit: number }], StoredRow>(
      `SELECT ${columns} FROM streams s CROSS JOIN records r INDEXED BY records_quarantined ON r.stream_id = s.id
       WHERE ${IS_QUARANTINED} AND (@source IS NULL OR s.source = @source)
         AND (instr(lower(r.key), lower(@part)) OR r.id IN (
           SELECT h.record_id FROM holds h WHERE instr(lower(h.product_key), lower(@part))))
       ORDER BY r.id LIMIT @limit`,
    ),
  };

  return {
    quarantinedRows: (records) => sql.byId.all(JSON.stringify(records)).map(rowOf),
    searchQuarantined: ({ search, source = null }) =>
      sql.search.all({ part: search, source, limit: FOUND_MAX }).map(rowOf),
  };
}

function rowOf({ id, key, place, raw, issues: stored, product, ...group }: StoredRow): RowInQuarantine {
  const { source, stream } = group;
  const issues = parseJsonOrNull<Issue[]>(stored) ?? [];
  return {
    record: { id, source, stream, key, place: parseJson<Place>(place), fields: parseJson<JsonObject>(raw), issues },
    cause: {
      id: causeOfRecords(group),
      title: titleOfIssue(issues[0] ?? { code: 'unknown', message: 'No reason was kept.' }),
    },
    product,
  };
}
