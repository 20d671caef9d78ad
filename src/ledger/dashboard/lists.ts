// The pages of lists: of rows that a statement reads in their order, and of ids.
import { fault } from '../../domain/faults.ts';
import type { ActionRow, Listed, ListPage, LookupValue, RunFilter } from '../../domain/ports/ledger/dashboard-views.ts';
import type { QuarantinedRecord, RunView } from '../../domain/ports/ledger/ledger-views.ts';
import type { JsonObject } from '../../lib/json.ts';
import { column, parseJson, statement } from '../store/tx.ts';
import {
  type QuarantineRow,
  quarantinedRecord,
  RUN_COLUMNS,
  type StoredRun,
  withStreams,
} from '../views/source-views.ts';
import type { Db } from '../views/view-reads.ts';

const LIMIT_MAX = 500;

/** Where a list continues: in which of its phases, and after which row of the phase. */
interface Place {
  phase: number;
  after: readonly (string | number)[] | null;
}

export function limitOf({ limit }: ListPage): number {
  return Math.max(1, Math.min(LIMIT_MAX, Math.floor(limit)));
}

function placeText({ phase, after }: Place): string {
  return Buffer.from(JSON.stringify([phase, ...(after ?? [])])).toString('base64url');
}

/** @throws Fault `usage` for a place that did not come from a list */
export function placeOf({ after }: ListPage): Place {
  if (after === undefined) return { phase: 0, after: null };
  const parts = parsed(after);
  const [phase, ...rest] = Array.isArray(parts) ? (parts as unknown[]) : [];
  const isSound = (part: unknown) => typeof part === 'string' || typeof part === 'number';
  if (typeof phase !== 'number' || !Number.isInteger(phase) || phase < 0 || !rest.every(isSound)) {
    throw fault('usage', 'The list does not have the position at which this page begins.', {
      suggestion: 'Begin at the first page.',
    });
  }
  return { phase, after: rest.length === 0 ? null : (rest as (string | number)[]) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return null;
  }
}

/**
 * Makes a page of rows that were read in their order.
 *
 * @param found one row more than the page has, if there are more
 * @param afterOf the position after a row; its id, if the rows are in the order of their ids
 */
export function pageOfRows<Row extends { id: number }>(
  found: readonly Row[],
  limit: number,
  afterOf: (row: Row) => Place['after'] = ({ id }) => [id],
): { rows: Row[]; next: string | null } {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const isMore = found.length > limit && last !== undefined;
  return { rows, next: isMore ? placeText({ phase: 0, after: afterOf(last) }) : null };
}

// Makes the pages of a list from ids. The ids come from several phases, one after the other, each in the order of an
// index. A condition is checked for each id. One page looks at a bounded number of ids. So it may have fewer rows than
// asked for if few rows fulfil the condition; the next page continues after its last id.

export interface Found {
  id: number;
  /** The position after this id, from which the phase continues. */
  after: readonly (string | number)[];
}

/** Ids in the order of one index, a batch at a time. */
export interface Phase {
  /** Reads the ids after a position. Returns fewer than `limit` only at the end. */
  read(after: Place['after'], limit: number): Found[];
  /** How many ids there are, at most `most`; null if only reading them can show it. */
  count?(most: number): number;
}

/** Makes a phase from ids that are in memory, in their order. */
export function phaseOfIds(ids: (afterId: number) => Generator<number>, count?: Phase['count']): Phase {
  return {
    read(after, limit) {
      const found: Found[] = [];
      for (const id of ids(Number(after?.[0] ?? 0))) {
        found.push({ id, after: [id] });
        if (found.length === limit) break;
      }
      return found;
    },
    ...(count === undefined ? {} : { count }),
  };
}

const BATCH = 500;
/** How many ids one page looks at. */
const LOOKED_AT_MAX = 20_000;
const COUNTED_MAX = 100_000;
/** How many ids are looked at to count those that fulfil a condition. */
const LOOKED_AT_TO_COUNT = 10_000;

/**
 * One page of a list of ids.
 *
 * @param accepts returns the ids of a batch that fulfil the condition of the list; null for a list without a condition
 */
export function pageOfIds(
  phases: readonly Phase[],
  page: ListPage,
  accepts: ((ids: readonly number[]) => ReadonlySet<number>) | null,
): { ids: number[]; next: string | null } {
  const limit = limitOf(page);
  const found: number[] = [];
  let { phase, after } = placeOf(page);
  let lookedAt = 0;
  while (phase < phases.length) {
    const size = accepts === null ? limit - found.length + 1 : BATCH;
    const batch = phases[phase]?.read(after, size) ?? [];
    const accepted = accepts === null ? null : accepts(batch.map(({ id }) => id));
    for (const one of batch) {
      if (accepted === null || accepted.has(one.id)) {
        if (found.length === limit) return { ids: found, next: placeText({ phase, after }) };
        found.push(one.id);
      }
      ({ after } = one);
    }
    lookedAt += batch.length;
    if (batch.length < size) {
      phase += 1;
      after = null;
    } else if (lookedAt >= LOOKED_AT_MAX) return { ids: found, next: placeText({ phase, after }) };
  }
  return { ids: found, next: null };
}

/** How many ids a list has. */
export function countIds(
  phases: readonly Phase[],
  accepts: ((ids: readonly number[]) => ReadonlySet<number>) | null,
): Listed<never>['total'] {
  let count = 0;
  let lookedAt = 0;
  for (const phase of phases) {
    const known = accepts === null ? phase.count?.(COUNTED_MAX) : undefined;
    if (known !== undefined) {
      count += known;
      if (known >= COUNTED_MAX) return { count, atLeast: true };
      continue;
    }
    let after: Place['after'] = null;
    for (;;) {
      const batch = phase.read(after, BATCH);
      count += accepts === null ? batch.length : accepts(batch.map(({ id }) => id)).size;
      lookedAt += batch.length;
      if (batch.length < BATCH) break;
      if (lookedAt >= LOOKED_AT_TO_COUNT) return { count, atLeast: true };
      after = batch.at(-1)?.after ?? null;
    }
  }
  return { count, atLeast: false };
}

interface RunQuery {
  source: string | null;
  stream: string | null;
  result: string | null;
  before: number;
  limit: number;
}

const FITS = `(@source IS NULL OR r.source = @source)
  AND (@stream IS NULL OR EXISTS (SELECT 1 FROM run_streams a JOIN streams s ON s.id = a.stream_id
    WHERE a.run_id = r.id AND s.name = @stream))
  AND CASE @result WHEN 'running' THEN r.result IS NULL
    WHEN 'guarded' THEN EXISTS (SELECT 1 FROM run_streams a WHERE a.run_id = r.id AND a.guarded IS NOT NULL)
    ELSE @result IS NULL OR r.result = @result END`;
// A ledger keeps some hundred runs of each source, so no further index is needed to read them.
const RUNS = {
  page: statement<[RunQuery], StoredRun>(
    `SELECT ${RUN_COLUMNS} FROM runs r WHERE r.id < @before AND ${FITS} ORDER BY r.id DESC LIMIT @limit`,
  ),
  count: column<[Omit<RunQuery, 'before' | 'limit'>], number>(`SELECT count(*) FROM runs r WHERE ${FITS}`),
};

/** The runs, the newest first. */
export function listRuns(reads: Db, { source, stream, result }: RunFilter, page: ListPage): Listed<RunView> {
  const limit = limitOf(page);
  const query = { source: source ?? null, stream: stream ?? null, result: result ?? null };
  const before = Number(placeOf(page).after?.[0] ?? Number.MAX_SAFE_INTEGER);
  const { rows, next } = pageOfRows(RUNS.page(reads).all({ ...query, before, limit: limit + 1 }), limit);
  return { rows: withStreams(reads, rows), next, total: { count: RUNS.count(reads).get(query) ?? 0, atLeast: false } };
}

const PEOPLE = {
  actions: statement<[number, number], Omit<ActionRow, 'detail'> & { detail: string }>(
    'SELECT id, at, who, via, action, detail, outcome FROM actions WHERE id < ? ORDER BY id DESC LIMIT ?',
  ),
  count: column<[], number>('SELECT count(*) FROM actions'),
  values: statement<[], LookupValue>(
    'SELECT lookup, key, value, set_by AS by, set_at AS at FROM lookup_values ORDER BY lookup, key',
  ),
};

/** The audit log, the newest first. */
export function listActions(reads: Db, page: ListPage): Listed<ActionRow> {
  const limit = limitOf(page);
  const before = Number(placeOf(page).after?.[0] ?? Number.MAX_SAFE_INTEGER);
  const { rows, next } = pageOfRows(PEOPLE.actions(reads).all(before, limit + 1), limit);
  return {
    rows: rows.map(({ detail, ...row }) => ({ ...row, detail: parseJson<JsonObject>(detail) })),
    next,
    total: { count: PEOPLE.count(reads).get() ?? 0, atLeast: false },
  };
}

/** Values of lookup tables that people have added. */
export function listLookupValues(reads: Db): LookupValue[] {
  return PEOPLE.values(reads).all();
}

interface Query {
  source: string | null;
  streamId: number;
  afterId: number;
  limit: number;
}

const FROM = `FROM streams s CROSS JOIN records r INDEXED BY records_quarantined ON r.stream_id = s.id
  WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND (@source IS NULL OR s.source = @source)`;
const SQL = {
  // The order is that of the index.
  page: statement<[Query], QuarantineRow & { streamId: number }>(
    `SELECT r.id, s.id AS streamId, s.source, s.name AS stream, r.key, r.place, r.raw, r.issues ${FROM}
     AND s.id >= @streamId AND r.id > CASE WHEN s.id = @streamId THEN @afterId ELSE 0 END ORDER BY s.id, r.id LIMIT @limit`,
  ),
  count: column<[{ source: string | null; most: number }], number>(
    `SELECT count(*) FROM (SELECT 1 ${FROM} LIMIT @most) AS found`,
  ),
};

/** The rows in quarantine, one stream after the other. */
export function listQuarantine(
  reads: Db,
  { source = null }: { source?: string | null | undefined },
  page: ListPage,
): Listed<QuarantinedRecord> {
  const limit = limitOf(page);
  const [streamId = 0, afterId = 0] = (placeOf(page).after ?? []).map(Number);
  const found = SQL.page(reads).all({ source, streamId, afterId, limit: limit + 1 });
  const { rows, next } = pageOfRows(found, limit, (row) => [row.streamId, row.id]);
  const counts = page.counts ?? true;
  const count = counts ? (SQL.count(reads).get({ source, most: COUNTED_MAX }) ?? 0) : rows.length;
  return { rows: rows.map(quarantinedRecord), next, total: { count, atLeast: !counts || count === COUNTED_MAX } };
}
