// What is true at a moment of the night, counted again: by plain statements over the tables of the ledger, and by the content of the
// sandbox. Nothing here uses the views of the program.

import Database from 'better-sqlite3';

export type Counts = Record<string, number>;

/** A run with what it has read of all its streams. */
export interface RunBook {
  id: number;
  source: string;
  result: string | null;
  endedAt: number | null;
  read: number;
  unchanged: number;
  changed: number;
  quarantined: number;
  excluded: number;
  missing: number;
  isHeld: 0 | 1;
}

/** What the ledger has of one item. */
export interface ItemBook {
  kind: string;
  key: string;
  state: string;
  revision: number;
  /** Of an open delivery; otherwise 0. */
  attempts: number;
  /** JSON; null if there is none. */
  remoteId: string | null;
  /** How many items name it. */
  users: number;
  /** The state of the passport of a product; null for other kinds. */
  passport: string | null;
}

/** Facts by their names, such as `items product delivered`, `passports published`, `quarantined erp`. A fact without an entry is 0. */
export interface Books {
  facts: Counts;
  /** One item of each kind: others at each moment. */
  items: ItemBook[];
  runs: RunBook[];
  /** Streams whose export the guard holds, as `source/stream`. */
  guarded: string[];
}

const OPEN = "('waiting', 'due', 'sending', 'in_doubt', 'blocked', 'rejected', 'parked')";
const IS_OPEN = `i.state IN ${OPEN}`;
/** Items of which the platform has nothing and that no row makes any more are in no count. */
const IS_COUNTED = `NOT (i.missing_since IS NOT NULL AND i.acknowledged = 0 AND NOT ${IS_OPEN})`;
const STATE = `CASE WHEN ${IS_OPEN} THEN i.state WHEN i.ignored_hash IS NOT NULL THEN 'superseded' ELSE 'delivered' END`;
const PRESENT = `r.state = 'quarantined' AND r.missing_since IS NULL`;
const STATUS = `q.baseline ->> '$.status'`;
/** With \`init: when-complete\` and \`publish: manual\`, where nobody has withdrawn a passport. */
const PASSPORT = `CASE
  WHEN q.state IN ('blocked', 'rejected', 'parked') OR (q.state = 'in_doubt' AND q.due_at = 0) THEN 'blocked'
  WHEN ${STATUS} = 'published' THEN 'published'
  WHEN q.state IN ('waiting', 'due', 'sending', 'in_doubt') THEN coalesce(${STATUS}, 'none')
  WHEN p.missing_since IS NOT NULL OR p.record_id IS NULL THEN coalesce(${STATUS}, 'none')
  WHEN q.desired ->> '$.because' = 'person' AND q.desired ->> '$.status' = 'published' THEN 'incomplete'
  ELSE coalesce(${STATUS}, 'incomplete') END`;

/** The first issue of each row in quarantine, with the products that wait for it: its own, and those that contain its material. */
const HELD = `SELECT s.source || ' ' || (r.issues ->> '$[0].code') || ' ' || (r.issues ->> '$[0].field') AS cause, h.product_key AS product
    FROM records r JOIN streams s ON s.id = r.stream_id JOIN holds h ON h.record_id = r.id WHERE ${PRESENT}
  UNION SELECT s.source || ' ' || (r.issues ->> '$[0].code') || ' ' || (r.issues ->> '$[0].field'), f.key
    FROM records r JOIN streams s ON s.id = r.stream_id CROSS JOIN held_materials m ON m.record_id = r.id
    CROSS JOIN refs u ON u.kind = 'material' AND u.key = m.material_key CROSS JOIN refs f ON f.item_id = u.item_id AND f.role = 'product' WHERE ${PRESENT}`;

/** The products with a part whose row the held export lacks. */
const GONE = `SELECT f.key FROM lost_records l JOIN items m ON m.record_id = l.record_id JOIN refs u ON u.kind = m.kind AND u.key = m.key
  JOIN refs f ON f.item_id = u.item_id AND f.role = 'product'`;

const NAMED: readonly string[] = [
  `SELECT 'items ' || i.kind || ' ' || ${STATE}, count(*) FROM items i WHERE i.kind <> 'passport' AND ${IS_COUNTED} GROUP BY 1`,
  `SELECT 'items ' || i.source || ' ' || i.kind || ' ' || ${STATE}, count(*) FROM items i
   WHERE ${IS_COUNTED} AND (i.kind <> 'passport' OR i.revision > 0) GROUP BY 1`,
  `SELECT 'left ' || i.state, count(*) FROM items i WHERE i.state IN ('due', 'sending', 'waiting', 'in_doubt') GROUP BY 1`,
  `SELECT 'left following', count(*) FROM items i WHERE i.kind = 'passport' AND i.operation = 'passport.init'
   AND i.state IN ('waiting', 'due', 'sending', 'in_doubt') AND i.desired ->> '$.status' = 'published'`,
  `SELECT 'passports ' || ${PASSPORT}, count(*) FROM items p LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key
   WHERE p.kind = 'product' GROUP BY 1`,
  `SELECT 'quarantined ' || s.source, count(*) FROM records r JOIN streams s ON s.id = r.stream_id WHERE ${PRESENT} GROUP BY 1`,
  `SELECT 'quarantined', count(*) FROM records r WHERE ${PRESENT}`,
  `SELECT 'unmade', count(DISTINCT h.product_key) FROM records r JOIN holds h ON h.record_id = r.id WHERE ${PRESENT}
   AND h.product_key NOT IN (SELECT key FROM items WHERE kind = 'product')`,
  `SELECT 'held ' || h.cause, count(DISTINCT h.product) FROM (${HELD}) h
   LEFT JOIN items q ON q.kind = 'passport' AND q.key = h.product WHERE ${STATUS} IS NOT 'published' GROUP BY 1`,
  `SELECT 'value ' || s.source || ' ' || (r.issues ->> '$[0].code') || ' ' || (r.issues ->> '$[0].field') || ' ' || (r.issues ->> '$[0].value'), count(*)
   FROM records r JOIN streams s ON s.id = r.stream_id WHERE ${PRESENT} GROUP BY 1`,
  `SELECT 'part ' || u.key, count(*) FROM refs u JOIN items b ON b.id = u.item_id
   WHERE u.kind = 'material' AND u.key NOT IN (SELECT key FROM items WHERE kind = 'material') AND b.kind = 'bom_item' AND b.missing_since IS NULL GROUP BY 1`,
  `SELECT 'changed by ' || r.id, count(*) FROM runs r JOIN items i ON i.source = r.source AND i.kind <> 'passport' AND i.staged_at >= r.started_at
   WHERE NOT EXISTS (SELECT 1 FROM runs n WHERE n.source = r.source AND n.id > r.id) GROUP BY 1`,
  `SELECT 'users of gone', count(DISTINCT f.key) FROM (${GONE}) f`,
  `SELECT 'public users of gone', count(DISTINCT f.key) FROM (${GONE}) f
   JOIN items q ON q.kind = 'passport' AND q.key = f.key WHERE ${STATUS} = 'published'`,
  `SELECT 'rows', count(*) FROM records WHERE missing_since IS NULL`,
  `SELECT 'stuck ' || i.state, count(*) FROM items i WHERE i.state IN ('blocked', 'rejected', 'parked')
     OR (i.state = 'in_doubt' AND i.due_at = 0) GROUP BY 1`,
  `SELECT 'passport items', count(*) FROM items WHERE kind = 'passport'`,
  `SELECT 'guard read', coalesce(max(read), 0) FROM guarded_reads`,
  `SELECT 'guard missing', coalesce(max(missing), 0) FROM guarded_reads`,
  `SELECT 'known materials', count(*) FROM items WHERE kind = 'material'`,
  `SELECT 'actions', count(*) FROM actions`,
  `SELECT 'tasks', count(*) FROM tasks`,
];

const RUNS = `SELECT r.id, r.source, r.result, r.ended_at AS endedAt, ${[
  'read',
  'unchanged',
  'changed',
  'quarantined',
  'excluded',
  'missing',
]
  .map((column) => `coalesce(sum(a.${column}), 0) AS ${column}`)
  .join(
    ', ',
  )}, max(a.guarded IS NOT NULL) AS isHeld FROM runs r LEFT JOIN run_streams a ON a.run_id = r.id GROUP BY r.id ORDER BY r.id DESC`;

const GUARDED = `SELECT s.source || '/' || s.name FROM streams s JOIN (SELECT stream_id, accepted_at, refused_at FROM guarded_reads
  UNION ALL SELECT stream_id, accepted_at, refused_at FROM guarded_items) g ON g.stream_id = s.id
  WHERE g.accepted_at IS NULL AND g.refused_at IS NULL GROUP BY 1 ORDER BY 1`;

/** The first item of a kind from a place that every write changes. */
const ITEM = `SELECT p.kind, p.key, ${STATE.replaceAll('i.', 'p.')} AS state, p.revision, CASE WHEN ${IS_OPEN.replaceAll('i.', 'p.')} THEN p.attempts ELSE 0 END AS attempts, nullif(p.remote_id, 'null') AS remoteId,
    (SELECT count(*) FROM refs f JOIN items u ON u.id = f.item_id WHERE f.kind = p.kind AND f.key = p.key AND u.kind <> 'passport') AS users,
    CASE p.kind WHEN 'product' THEN ${PASSPORT} END AS passport
  FROM items p LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key
  WHERE p.id = (SELECT min(id) FROM items WHERE kind = @kind AND revision > 0
    AND id >= (SELECT total(revision) FROM items) * 7919 % (SELECT max(id) FROM items WHERE kind = @kind))`;
const ITEM_KINDS = ['product', 'material', 'bom_item', 'passport'];

/** Counts that indexes give, so that they take far less time than all facts. */
const GLANCE = `SELECT ${[
  ...['waiting', 'due', 'sending'].map((state) => `(SELECT count(*) FROM items WHERE state = '${state}')`),
  "(SELECT count(*) FROM items WHERE (state IN ('blocked', 'rejected') OR state IN ('parked', 'in_doubt')))",
  '(SELECT max(id) FROM items)',
  ...['pending', 'stale', 'quarantined'].map((state) => `(SELECT count(*) FROM records WHERE state = '${state}')`),
  '(SELECT max(id) FROM records)',
  '(SELECT count(*) FROM runs)',
  '(SELECT count(result) FROM runs)',
  '(SELECT count(*) FROM actions)',
  '(SELECT count(*) FROM tasks)',
].join(', ')}`;

/** Opens the books of a ledger that a daemon writes. */
export function openBooks(file: string) {
  const db = new Database(file, { readonly: true });
  const named = NAMED.map((sql) => db.prepare<[], [string, number]>(sql).raw());
  const glance = db.prepare<[], number[]>(GLANCE).raw();
  const item = db.prepare<[{ kind: string }], ItemBook>(ITEM);
  const [runs, guarded] = [db.prepare<[], RunBook>(RUNS), db.prepare<[], string>(GUARDED).pluck()];
  return {
    /** Other numbers after everything that counts for the pages. */
    glance: (): number[] => glance.get() ?? [],
    /** Counts everything in one moment. */
    read: (): Books =>
      db.transaction(() => ({
        facts: Object.fromEntries(named.flatMap((statement) => statement.all())),
        items: ITEM_KINDS.flatMap((kind) => item.get({ kind }) ?? []),
        runs: runs.all(),
        guarded: guarded.all(),
      }))(),
    close: () => db.close(),
  };
}
