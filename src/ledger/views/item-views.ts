import { withCure } from '../../domain/advice.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { storedReason } from '../../domain/delivery/stored-reason.ts';
import type { FormId } from '../../domain/delivery/wire-form.ts';
import type { Issue, Place } from '../../domain/issue.ts';
import { ITEM_KINDS, type ItemKind, type RefRole, type SubjectKind } from '../../domain/item.ts';
import { type PassportStatus, wantedByPolicy } from '../../domain/passport.ts';
import type { ItemState, ItemsInOtherForm } from '../../domain/ports/ledger/ledger-standing.ts';
import type {
  ItemFilter,
  ItemSummary,
  ItemView,
  RefStanding,
  TimelineEntry,
} from '../../domain/ports/ledger/ledger-views.ts';
import { identitiesOf } from '../../domain/record.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { otherForms } from '../items/content.ts';
import { isOpen } from '../items/item-row.ts';
import { IS_MISSING, IS_MISSING_AND_DECIDED, itemState, needsNothing } from '../items/missing.ts';
import { IS_HELD } from '../records/guarded-reads.ts';
import { column, parseJson, parseJsonOrNull, statement } from '../store/tx.ts';
import { FROM_PRODUCTS, PASSPORT_STATE } from './passport-views.ts';
import { type Db, type ViewReads, withdrawing } from './view-reads.ts';

export interface SummaryRow {
  id: number;
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  name: string | null;
  source: string | null;
  state: ItemState;
  remoteId: string | null;
  missing: number;
  missingAccepted: number;
  released: number;
  reason: string | null;
  dueAt: number | null;
}

interface DetailRow extends SummaryRow {
  undecided: 0 | 1;
  neverArrived: 0 | 1;
  desired: string;
  baseline: string | null;
  revision: number;
  attempts: number | null;
  recordId: number | null;
  /** Null also for an item that the API has not acknowledged; see `acknowledged`. */
  form: number | null;
  acknowledged: 0 | 1 | 2;
}

/** The name of an item. A passport has the name of its product. */
const NAME = `json_extract(CASE i.kind WHEN 'passport' THEN
  (SELECT p.desired FROM items p WHERE p.kind = 'product' AND p.key = i.key) ELSE i.desired END, '$.name')`;
export const SUMMARY = `i.id, i.kind, i.key, i.natural_key AS naturalKey, ${NAME} AS name, i.source,
  ${itemState('i')} AS state, i.remote_id AS remoteId, i.missing_since IS NOT NULL AS missing,
  i.missing_since IS NOT NULL AND i.missing_accepted IS i.missing_since AS missingAccepted,
  i.missing_since IS NULL AND i.record_id IS NULL AND i.kind <> 'passport' AS released,
  iif(${isOpen('i')} OR i.ignored_hash IS NOT NULL, i.reason, NULL) AS reason,
  iif(${isOpen('i')}, nullif(i.due_at, 0), NULL) AS dueAt`;

/** The payload that the API has acknowledged. */
const BASELINE = 'iif(i.acknowledged = 1, i.desired, i.baseline) AS baseline';
const DETAIL = `${SUMMARY}, i.desired, ${BASELINE}, i.revision, iif(${isOpen('i')}, i.attempts, NULL) AS attempts,
  i.record_id AS recordId, i.form, i.acknowledged, ${IS_MISSING} IS TRUE AS undecided,
  ${needsNothing('i')} IS TRUE AS neverArrived`;

const LIST = statement<[Parameters], SummaryRow>(
  `SELECT ${SUMMARY} FROM items i
   WHERE i.id > @afterId AND (@kind IS NULL OR i.kind = @kind) AND (@source IS NULL OR i.source = @source)
     AND (@state IS NULL OR (@state = 'missing' AND ${IS_MISSING})
       OR (@state = 'missing_decided' AND ${IS_MISSING_AND_DECIDED})
       OR (${itemState('i')} = @state AND NOT (@state = 'superseded' AND ${needsNothing('i')}))
       OR (@state = 'held' AND ${IS_HELD})
       OR (@state = 'incomplete' AND i.kind = 'product'
         AND (SELECT ${PASSPORT_STATE} ${FROM_PRODUCTS} WHERE p.id = i.id) = 'incomplete'))
     AND (@search IS NULL OR instr(lower(i.key), @search) > 0 OR instr(lower(coalesce(i.natural_key, '')), @search) > 0
          OR instr(lower(coalesce(${NAME}, '')), @search) > 0)
   ORDER BY i.id LIMIT @limit`,
);

interface Parameters {
  state: string | null;
  withdrawing: string;
  wanted: PassportStatus | null;
  kind: string | null;
  source: string | null;
  search: string | null;
  afterId: number;
  limit: number;
}

/** A list of items, in the order of their ids. */
export function listItems(
  reads: ViewReads,
  { state, kind, source, search, afterId, limit }: ItemFilter & { afterId: number; limit: number },
): { items: ItemSummary[]; lastId: number } {
  const rows = LIST(reads).all({
    state: state ?? null,
    ...withdrawing(reads),
    wanted: wantedByPolicy(reads.passportRules),
    kind: kind ?? null,
    source: source ?? null,
    search: search?.toLowerCase() ?? null,
    afterId,
    limit,
  });
  return { items: rows.map(summary), lastId: rows.at(-1)?.id ?? afterId };
}

/** The name by which an item is looked up, and the sources with `onMissing: unpublish`. */
interface Named {
  kind: string;
  name: string;
  withdrawing: string;
}

const ITEM = {
  // Two statements, each with its own index: a single statement with OR would read all items of the kind. Several items may
  // have the same natural key.
  byKey: statement<[Named], DetailRow>(`SELECT ${DETAIL} FROM items i WHERE i.kind = +@kind AND i.key = +@name`),
  byNaturalKey: statement<[Named], DetailRow>(
    `SELECT ${DETAIL} FROM items i WHERE i.kind = +@kind AND i.natural_key = +@name ORDER BY i.id LIMIT 1`,
  ),
  refs: statement<[number], RefRow>(
    `SELECT refs.role, refs.kind, refs.key, refs.either, CASE WHEN i.id IS NULL THEN NULL ELSE ${itemState('i')} END AS state
     FROM refs LEFT JOIN items i ON i.kind = refs.kind AND i.key = refs.key WHERE refs.item_id = ? ORDER BY refs.role`,
  ),
  record: statement<[number], RecordRow>(
    `SELECT s.source, s.name AS stream, r.place, r.raw, r.state, r.issues FROM records r JOIN streams s ON s.id = r.stream_id
     WHERE r.id = ?`,
  ),
  revisions: statement<[{ id: number }], RevisionTimes>(
    `SELECT operation, revision, state, staged_at AS stagedAt, sent_at AS sentAt, settled_at AS settledAt FROM history
     WHERE item_id = @id UNION ALL
     SELECT operation, revision, state, staged_at, sent_at, settled_at FROM items
     WHERE id = @id AND state IS NOT NULL ORDER BY revision`,
  ),
  // If history was pruned, the event's revision has no operation.
  events: statement<[number], EventRow>(
    `SELECT e.at, e.type, e.detail, coalesce(h.operation, i.operation) AS operation,
       iif(h.operation IS NULL AND i.operation IS NULL, NULL, e.revision) AS revision
     FROM events e LEFT JOIN history h ON h.item_id = e.item_id AND h.revision = e.revision
     LEFT JOIN items i ON i.id = e.item_id AND i.revision = e.revision WHERE e.item_id = ? ORDER BY e.id`,
  ),
};

interface RecordRow {
  source: string;
  stream: string;
  place: string;
  raw: string;
  state: string;
  issues: string | null;
}

interface RefRow {
  role: RefRole;
  kind: ItemKind;
  key: string;
  either: 0 | 1;
  state: ItemState | null;
}

interface RevisionTimes {
  operation: Operation;
  revision: number;
  state: string;
  stagedAt: number;
  sentAt: number | null;
  settledAt: number | null;
}

interface EventRow extends Pick<TimelineEntry, 'at' | 'operation' | 'revision' | 'detail'> {
  type: string;
}

/** An item without what is said about it. */
export type StoredItem = Omit<ItemView, 'advice' | 'heldBy'>;

/** An item, by its key or natural key. */
export function itemOf(reads: ViewReads, kind: SubjectKind, key: string): StoredItem | null {
  const named = { kind, name: key, ...withdrawing(reads) };
  const row = ITEM.byKey(reads).get(named) ?? ITEM.byNaturalKey(reads).get(named);
  if (!row) return null;
  const record = row.recordId === null ? undefined : ITEM.record(reads).get(row.recordId);
  const refs = ITEM.refs(reads).all(row.id);
  return {
    ...summary(row),
    missingAccepted: row.missingAccepted === 1,
    missingDecided: row.missing === 1 && row.undecided === 0,
    neverArrived: row.neverArrived === 1,
    missingBecause: row.missing === 0 ? null : row.recordId === null ? 'row_changed' : 'row_gone',
    desired: parseJson<JsonObject>(row.desired),
    baseline: parseJsonOrNull<JsonObject>(row.baseline),
    inOtherForm: row.acknowledged > 0 ? fieldsInOtherForm(reads, row.kind, row.form) : [],
    refs: refs.map(({ either, ...ref }): RefStanding => (either === 1 ? { ...ref, either: true } : ref)),
    record: record
      ? {
          source: record.source,
          stream: record.stream,
          place: parseJson<Place>(record.place),
          fields: parseJson<JsonObject>(record.raw),
          quarantined:
            record.state === 'quarantined' ? (parseJsonOrNull<Issue[]>(record.issues)?.map(withCure) ?? null) : null,
        }
      : null,
    revision: row.revision,
    attempts: row.attempts ?? 0,
    timeline: timeline(reads, row.id),
  };
}

export function summary(row: SummaryRow): ItemSummary {
  return {
    kind: row.kind,
    key: row.key,
    naturalKey: row.naturalKey,
    name: row.name,
    source: row.source,
    state: row.state,
    remoteId: parseJsonOrNull<JsonValue>(row.remoteId),
    missing: row.missing === 1,
    released: row.released === 1,
    reason: storedReason(row.reason),
    dueAt: row.dueAt,
  };
}

function timeline(reads: ViewReads, itemId: number): TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  for (const { operation, revision, state, stagedAt, sentAt, settledAt } of ITEM.revisions(reads).all({ id: itemId })) {
    const of = { operation, revision, detail: null };
    entries.push({ at: stagedAt, what: 'staged', ...of });
    if (sentAt !== null) entries.push({ at: sentAt, what: 'sent', ...of });
    if (settledAt !== null && (state === 'delivered' || state === 'superseded')) {
      entries.push({ at: settledAt, what: state, ...of });
    }
  }
  for (const { at, type, detail, operation, revision } of ITEM.events(reads).all(itemId)) {
    const message = parseJsonOrNull<{ message?: string }>(detail)?.message ?? null;
    entries.push({ at, what: type, operation, revision, detail: message });
  }
  // The sort is stable: events of the same millisecond stay in the order in which they were written.
  return entries.sort((a, b) => a.at - b.at);
}

/** The fields of an item that the platform has in another form. */
function fieldsInOtherForm(reads: ViewReads, kind: SubjectKind, form: FormId): string[] {
  return otherForms(reads, reads.wireForms).find((other) => other.kind === kind && other.form === form)?.fields ?? [];
}

// Reads nothing but the items in these forms, in an index. A person has decided to leave the ignored ones as the platform has
// them.
const IN_FORMS = column<[string], number>(
  `SELECT (SELECT count(*) FROM items i
       WHERE i.acknowledged > 0 AND i.kind = e.value ->> '$.kind' AND i.form IS CAST(e.value ->> '$.form' AS INTEGER))
     - (SELECT count(*) FROM items i INDEXED BY items_ignored WHERE i.ignored_hash IS NOT NULL AND i.acknowledged > 0
       AND i.kind = e.value ->> '$.kind' AND +i.form IS CAST(e.value ->> '$.form' AS INTEGER))
   FROM json_each(?) e ORDER BY e.key`,
);

/** Counts the items that the platform has in another form. */
export function itemsInOtherForm(reads: ViewReads): ItemsInOtherForm[] {
  const found = otherForms(reads, reads.wireForms);
  if (found.length === 0) return [];
  const counts = IN_FORMS(reads).all(JSON.stringify(found));
  return ITEM_KINDS.flatMap((kind) => {
    const items = found.reduce((sum, one, at) => sum + (one.kind === kind ? (counts[at] ?? 0) : 0), 0);
    const fields = found.filter((one) => one.kind === kind).flatMap((one) => one.fields);
    return items === 0 ? [] : [{ kind, items, fields: [...new Set(fields)].sort() }];
  });
}

/** A stored row of a source. */
export interface StoredRow {
  id: number;
  key: string;
  source: string;
  stream: string;
  place: string;
  state: string;
  issues: string | null;
  missing: 0 | 1;
  /** 1 if the row is in quarantine and its sound items are used nevertheless. */
  partial: 0 | 1;
  /** 1 if the guard holds a read that does not have the row. */
  lost: 0 | 1;
}

/** The columns of a stored row `r` of the stream `s`. */
export const ROW_COLUMNS = `r.id, r.key, s.source, s.name AS stream, r.place, r.state, r.issues, r.missing_since IS NOT NULL AS missing,
  r.partial, EXISTS (SELECT 1 FROM lost_records l WHERE l.record_id = r.id) AS lost`;

const ROWS_MAX = 5;

interface NamedQuery {
  name: string;
  identities: string;
  limit: number;
}

// One statement for each index. With OR, SQLite would read all records.
const NAMED = [
  `SELECT ${ROW_COLUMNS} FROM holds h JOIN records r ON r.id = h.record_id JOIN streams s ON s.id = r.stream_id
   WHERE h.product_key = @name AND r.state = 'quarantined' AND r.missing_since IS NULL ORDER BY r.id LIMIT @limit`,
  `SELECT ${ROW_COLUMNS} FROM contenders c JOIN records r ON r.id = c.record_id JOIN streams s ON s.id = r.stream_id
   WHERE c.kind IN ('product', 'material', 'bom_item') AND c.key = @name AND r.missing_since IS NULL
   ORDER BY r.id LIMIT @limit`,
  `SELECT ${ROW_COLUMNS} FROM streams s CROSS JOIN json_each(@identities) k CROSS JOIN records r ON r.stream_id = s.id AND r.key = k.value
   WHERE r.state <> 'mapped' ORDER BY r.id LIMIT @limit`,
  // No index has the values of rows, so this statement reads all rows in quarantine, one at a time.
  `SELECT ${ROW_COLUMNS} FROM records r INDEXED BY records_quarantined CROSS JOIN streams s ON s.id = r.stream_id
   WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND instr(r.raw, @name) > 0
     AND EXISTS (SELECT 1 FROM json_each(r.raw) f WHERE f.value = @name) ORDER BY r.stream_id, r.id LIMIT @limit`,
].map((text) => statement<[NamedQuery], StoredRow>(text));

/**
 * Finds rows by a name that no item has. The name may be the key of the row, the key of an item that the row would make,
 * or a value of the row.
 */
export function rowsNaming(reads: Db, name: string): StoredRow[] {
  // A row with an empty cell names nothing.
  if (name === '') return [];
  const query = { name, identities: JSON.stringify(identitiesOf(name)), limit: ROWS_MAX };
  for (const named of NAMED) {
    const rows = named(reads).all(query);
    if (rows.length > 0) return rows;
  }
  return [];
}
