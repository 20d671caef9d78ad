// The causes that are about a whole source, or about the API: failed runs, exports that the guard holds with the rows that they lack,
// runs that wait for an approval, and an API that takes nothing.

import {
  type ApiTrouble,
  adviceOnApi,
  adviceOnFailedRun,
  adviceOnGuard,
  adviceOnHeldRun,
} from '../../domain/advice.ts';
import type { GuardedRead } from '../../domain/ports/guarded-intake.ts';
import type {
  FoundCause,
  GoneEffect,
  GoneRow,
  GoneRows,
  GoneRowsAsked,
} from '../../domain/ports/ledger/dashboard-views.ts';
import { sentence } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { causeId } from '../items/stuck-groups.ts';
import { column, parseJson, perDatabase, statement } from '../store/tx.ts';
import { guardedReads, heldRuns } from '../views/source-views.ts';
import type { Db } from '../views/view-reads.ts';
import type { DashboardReads } from './catalog.ts';
import { isPublished, KEPT_MS, MEMBERS_MAX, NO_VALUES, PRODUCTS_WITH_PART } from './group-figures.ts';
import { countPassports } from './passport-lists.ts';

const EXAMPLE_MAX = 200;

export function shown(text: string): string {
  return text.length <= EXAMPLE_MAX ? text : `${text.slice(0, EXAMPLE_MAX - 1)}…`;
}

/**
 * How many passports wait for a read of this source. The passports of all products wait for the sources of parts.
 */
function passportsOfSource(reads: DashboardReads, source: string): number {
  const isOfParts = reads.passportRules.partSources.includes(source);
  const { incomplete = 0, blocked = 0, initialized = 0 } = countPassports(reads, isOfParts ? undefined : source);
  return incomplete + blocked + initialized;
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
export function failedRuns(reads: Db): FailedRuns[] {
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

export function causesOfRuns(reads: DashboardReads): FoundCause[] {
  return failedRuns(reads).map(({ id, source, error, count, since, until }) => {
    const waiting = passportsOfSource(reads, source);
    return {
      id,
      type: 'run',
      source,
      stream: null,
      code: 'run.failed',
      field: null,
      count,
      ...adviceOnFailedRun(source),
      // Nobody knows which products a run without an end would have brought.
      passportsHeld: waiting === 0 ? null : waiting,
      firstSeenAt: since,
      lastSeenAt: until,
      example: error === null ? null : shown(sentence(error)),
      ...NO_VALUES,
    };
  });
}

const GONE_ITEMS = `SELECT 1 AS cause, i.id, i.kind, i.key FROM lost_records l CROSS JOIN items i ON i.record_id = l.record_id
       WHERE l.stream_id = @streamId AND @released = 0
     UNION SELECT 1, i.id, i.kind, i.key FROM released l CROSS JOIN items i ON i.id = l.item_id
       WHERE l.stream_id = @streamId AND @released = 1`;
const HELD_ITEMS = `${GONE_ITEMS}
     UNION SELECT 1, i.id, i.kind, i.key FROM held_creates h CROSS JOIN items i ON i.id = h.item_id WHERE h.stream_id = @streamId`;
/** The products that the members are, or that contain them. */
const PRODUCTS_OF_MEMBERS = `SELECT cause, key FROM members WHERE kind IN ('product', 'passport')
       UNION SELECT m.cause, f.key FROM members m JOIN refs f ON f.item_id = m.id AND f.role = 'product' WHERE m.kind = 'bom_item'
       UNION ${PRODUCTS_WITH_PART}`;
const NOT_PUBLIC = `SELECT count(*) FROM (${PRODUCTS_OF_MEMBERS}) p WHERE NOT ${isPublished('p.key')}`;
const SQL = {
  stream: column<[string, string], number>('SELECT id FROM streams WHERE source = ? AND name = ?'),
  heldByGuard: column<[{ streamId: number; released: 0 | 1 }], number>(
    `WITH members AS MATERIALIZED (${HELD_ITEMS}) ${NOT_PUBLIC}`,
  ),
  products: statement<
    [{ streamId: number; released: 0 | 1; limit: number }],
    { key: string; isPublic: 0 | 1; all: number; visible: number }
  >(
    `WITH members AS MATERIALIZED (${GONE_ITEMS}),
     used AS MATERIALIZED (SELECT p.key, iif(${isPublished('p.key')}, 1, 0) AS isPublic FROM (${PRODUCTS_OF_MEMBERS}) p)
     SELECT u.key, u.isPublic, (SELECT count(*) FROM used) AS "all", (SELECT coalesce(sum(isPublic), 0) FROM used) AS visible
     FROM used u ORDER BY u.isPublic DESC, u.key LIMIT @limit`,
  ),
  due: column<[{ operations: string | null }], number>(
    `SELECT count(*) FROM items i WHERE i.state = 'due'
     AND (@operations IS NULL OR i.operation IN (SELECT value FROM json_each(@operations)))`,
  ),
  heldByApi: column<[{ operations: string | null }], number>(
    `WITH members AS MATERIALIZED (SELECT 1 AS cause, i.id, i.kind, i.key FROM items i WHERE i.state = 'due'
       AND (@operations IS NULL OR i.operation IN (SELECT value FROM json_each(@operations)))) ${NOT_PUBLIC}`,
  ),
  lost: statement<[PageQuery], PageRow>(
    `SELECT l.record_id AS id, r.raw, NULL AS kind, NULL AS key FROM lost_records l JOIN records r ON r.id = l.record_id
     WHERE l.stream_id = @streamId AND l.record_id > @afterId ORDER BY l.record_id LIMIT @limit`,
  ),
  released: statement<[PageQuery], PageRow>(
    `SELECT l.item_id AS id, NULL AS raw, i.kind, coalesce(i.natural_key, i.key) AS key FROM released l
     CROSS JOIN items i ON i.id = l.item_id
     WHERE l.stream_id = @streamId AND l.item_id > @afterId ORDER BY l.item_id LIMIT @limit`,
  ),
  // Of each row the first products, with the number of all of them.
  using: statement<[{ ids: string; released: 0 | 1; limit: number }], UsingRow>(
    `WITH members AS MATERIALIZED (
       SELECT e.value AS cause, i.id, i.kind, i.key FROM json_each(@ids) e CROSS JOIN items i ON i.record_id = e.value
       WHERE @released = 0
       UNION SELECT i.id, i.id, i.kind, i.key FROM json_each(@ids) e CROSS JOIN items i ON i.id = e.value WHERE @released = 1),
     used AS MATERIALIZED (
       SELECT p.cause, p.key, iif(${isPublished('p.key')}, 1, 0) AS isPublic FROM (${PRODUCTS_OF_MEMBERS}) p)
     SELECT cause AS id, key, number, "all", visible FROM (
       SELECT cause, key, row_number() OVER (PARTITION BY cause ORDER BY key) AS number,
         count(*) OVER (PARTITION BY cause) AS "all", sum(isPublic) OVER (PARTITION BY cause) AS visible FROM used) u
     WHERE number <= @limit ORDER BY cause, number`,
  ),
};

/** The id of a stream; null if the ledger does not have it. */
function streamId(reads: Db, source: string, stream: string): number | null {
  return SQL.stream(reads).get(source, stream) ?? null;
}

/** Counts that took long, as long as they are used again. */
const keptCounts = perDatabase(() => new Map<string, { of: string; held: number; until: number }>());

function kept(reads: DashboardReads, { id, of }: { id: string; of: string }, count: () => number): number {
  const counts = keptCounts(reads);
  const known = counts.get(id);
  if (known?.of === of && reads.now() < known.until) return known.held;
  const held = count();
  counts.set(id, { of, held, until: reads.now() + KEPT_MS });
  return held;
}

export function causesOfGuard(reads: DashboardReads): FoundCause[] {
  return guardedReads(reads).map((read) => {
    const { source, stream, since, missing, released, gone } = read;
    const id = causeId('guard', source, stream, read.isOlder ? 'older' : released > 0 ? 'released' : 'missing');
    return {
      id,
      type: 'guard',
      source,
      stream,
      code: 'guard.held',
      field: null,
      count: released > 0 ? released : missing,
      ...adviceOnGuard(read),
      passportsHeld: heldByGuard(reads, id, read),
      firstSeenAt: since,
      lastSeenAt: since,
      example: gone[0] ?? null,
      ...NO_VALUES,
    };
  });
}

/** Nobody has evaluated the passports that such a run would free, so their number is not known. */
export function causesOfHeldRuns(reads: DashboardReads): FoundCause[] {
  return heldRuns(reads, reads.passportRules.sources).map((run) => ({
    id: causeId('held', run.source),
    type: 'held',
    source: run.source,
    stream: null,
    code: 'run.held',
    field: null,
    count: run.writes.count,
    ...adviceOnHeldRun(run),
    passportsHeld: null,
    firstSeenAt: run.at,
    lastSeenAt: run.at,
    example: null,
    ...NO_VALUES,
  }));
}

function heldByGuard(reads: DashboardReads, cause: string, read: GuardedRead): number | null {
  const { source, stream, missing, released, creates, runId } = read;
  if (reads.passportRules.partSources.includes(source)) return passportsOfSource(reads, source);
  const id = streamId(reads, source, stream);
  if (id === null || missing + released + creates > MEMBERS_MAX) return null;
  const of = JSON.stringify([runId, missing, released, creates]);
  return kept(
    reads,
    { id: cause, of },
    () => SQL.heldByGuard(reads).get({ streamId: id, released: released > 0 ? 1 : 0 }) ?? 0,
  );
}

/** At most this many products are named. */
const EXAMPLES_MAX = 100;

/** The products that are gone in the held reads of a source, or that use what is gone. An older export has not been read. */
export function goneEffects(reads: DashboardReads, source: string): GoneEffect[] {
  return guardedReads(reads, [source]).flatMap(({ stream, missing, released, isOlder }): GoneEffect[] => {
    const id = streamId(reads, source, stream);
    if (id === null || isOlder) return [];
    if (missing + released > MEMBERS_MAX) return [{ stream, products: null, public: null, examples: [] }];
    const asked = { streamId: id, released: released > 0 ? (1 as const) : (0 as const), limit: EXAMPLES_MAX };
    const rows = SQL.products(reads).all(asked);
    const [first] = rows;
    return [{ stream, products: first?.all ?? 0, public: first?.visible ?? 0, examples: rows.map(({ key }) => key) }];
  });
}

/** The causes of what the API does not take, as the process knows it that sends. */
export function causesOfApi(reads: DashboardReads, troubles: readonly ApiTrouble[]): FoundCause[] {
  return troubles.map((trouble) => {
    const { kind, scope, since, message } = trouble;
    const id = causeId('api', kind, scope);
    const operations = trouble.operations === null ? null : JSON.stringify(trouble.operations);
    const count = SQL.due(reads).get({ operations }) ?? 0;
    const of = String(count);
    const held = () => SQL.heldByApi(reads).get({ operations }) ?? 0;
    return {
      id,
      type: 'api',
      source: null,
      stream: null,
      code: `api.${kind}`,
      field: null,
      count,
      ...adviceOnApi(trouble),
      passportsHeld: count > MEMBERS_MAX ? null : kept(reads, { id, of }, held),
      firstSeenAt: since,
      lastSeenAt: since,
      example: message === null ? null : shown(sentence(message)),
      ...NO_VALUES,
    };
  });
}

// What an export that the guard holds lacks, row by row, with the products that use it: the file that a person looks at before accepting
// the export.

/** At most this many products of a row are named. */
const PRODUCTS_MAX = 20;

interface PageQuery {
  streamId: number;
  afterId: number;
  limit: number;
}

interface PageRow {
  id: number;
  /** The fields of a record; null for an item. */
  raw: string | null;
  kind: string | null;
  key: string | null;
}

interface UsingRow {
  id: number;
  key: string;
  number: number;
  all: number;
  visible: number;
}

/** A page of what is gone from a stream, in the order of the ledger. */
export function goneRows(reads: DashboardReads, { source, stream, of, afterId, limit }: GoneRowsAsked): GoneRows {
  const id = streamId(reads, source, stream);
  if (id === null) return { rows: [], lastId: null };
  const page = SQL[of](reads).all({ streamId: id, afterId, limit });
  const ids = JSON.stringify(page.map((row) => row.id));
  const using = Map.groupBy(
    SQL.using(reads).all({ ids, released: of === 'released' ? 1 : 0, limit: PRODUCTS_MAX }),
    (row) => row.id,
  );
  const rows = page.map((row): GoneRow => {
    const products = using.get(row.id) ?? [];
    const [first] = products;
    return {
      fields: row.raw === null ? { kind: row.kind, key: row.key } : parseJson<JsonObject>(row.raw),
      products: products.map(({ key }) => key),
      productCount: first?.all ?? 0,
      publicCount: first?.visible ?? 0,
    };
  });
  return { rows, lastId: page.length < limit ? null : (page.at(-1)?.id ?? null) };
}
