import type { ReplaySelection } from '../../domain/ports/ledger/replay-ledger.ts';
import { identitiesOf } from '../../domain/record.ts';
import { sha256Hex } from '../../lib/hash.ts';
import type { Sqlite } from '../store/database.ts';
import { column, type Reads, statement } from '../store/tx.ts';

// Groups the stuck items and records. SQLite finds the groups by two indexes, and it uses an index only for a statement
// that repeats the words of the index.

/** SQL condition on the items table `i`: true if the item needs a person. */
export const NEEDS_PERSON =
  "((i.state IN ('blocked', 'rejected') OR i.state = 'parked') OR (i.state = 'in_doubt' AND i.due_at = 0))";
/** SQL expression: the part that all reasons of one kind have in common. */
export const SHAPE =
  "CASE WHEN json_valid(i.reason) THEN coalesce(i.reason ->> '$.shape', i.reason ->> '$.code', '') ELSE '' END";
/** SQL condition on the records table `r`: true if the record is in quarantine and not missing. */
export const IS_QUARANTINED = "r.state = 'quarantined' AND r.missing_since IS NULL";
export const FIRST_CODE = "CASE WHEN json_valid(r.issues) THEN r.issues ->> '$[0].code' END";
export const FIRST_FIELD = "CASE WHEN json_valid(r.issues) THEN r.issues ->> '$[0].field' END";

interface Group {
  id: string;
  source: string;
  count: number;
  /** When the first member came into the group; null if that was not stored. */
  since: number | null;
  /** The same for the last member. */
  until: number | null;
  firstId: number;
}

/** Quarantined records of one stream whose first issue has the same code and field. */
export interface RecordGroup extends Group {
  type: 'quarantine';
  streamId: number;
  stream: string;
  code: string | null;
  field: string | null;
}

/** Items of one source in one state, whose reasons differ only in values. */
export interface ItemGroup extends Group {
  type: 'blocked' | 'rejected' | 'parked' | 'unconfirmed';
  state: StuckState;
  shape: string;
}

export type StuckState = 'blocked' | 'rejected' | 'parked' | 'in_doubt';
export type StuckGroup = RecordGroup | ItemGroup;

const TYPES: Readonly<Record<StuckState, ItemGroup['type']>> = {
  blocked: 'blocked',
  rejected: 'rejected',
  parked: 'parked',
  in_doubt: 'unconfirmed',
};

const ID_LENGTH = 16;

/** The id of a cause: stable over restarts, because it is made from the values that its members have in common. */
export function causeId(...parts: readonly (string | null)[]): string {
  return sha256Hex(JSON.stringify(parts)).slice(0, ID_LENGTH);
}

/** The id of the cause that quarantined records have in common. */
export function causeOfRecords({
  source,
  stream,
  code,
  field,
}: Pick<RecordGroup, 'source' | 'stream' | 'code' | 'field'>) {
  return causeId('quarantine', source, stream, code, field);
}

/** The parameters of a selection. Lists are JSON. */
export interface SelectionParameters {
  states: string;
  sources: string;
  keys: string;
  /** The keys of records whose rows have one of `keys`. */
  rowKeys: string;
  ids: string;
}

/** SQL condition on a table of items: true if the selection names the item by its key, or names no keys. */
export function hasKey(of: string): string {
  const keys = 'SELECT value FROM json_each(@keys)';
  return `(@keys = '[]' OR ${of}.key IN (${keys}) OR ${of}.natural_key IN (${keys}))`;
}

/** What a person selects: the quarantined records of a group, or deliveries. Null if the selected cause is gone. */
type Selected = { type: 'records'; group: RecordGroup } | { type: 'deliveries'; selection: ReplaySelection } | null;

const SQL = {
  records: statement<[], Omit<RecordGroup, 'id' | 'type'>>(
    `SELECT g.streamId, s.source, s.name AS stream, g.code, g.field, g.count, g.since, g.until, g.firstId FROM (
       SELECT r.stream_id AS streamId, ${FIRST_CODE} AS code, ${FIRST_FIELD} AS field, count(*) AS count,
         min(r.quarantined_at) AS since, max(r.quarantined_at) AS until, min(r.id) AS firstId
       FROM records r INDEXED BY records_by_issue WHERE ${IS_QUARANTINED} GROUP BY 1, 2, 3) g
     JOIN streams s ON s.id = g.streamId`,
  ),
  items: statement<[], Omit<ItemGroup, 'id' | 'type'>>(
    `SELECT i.state, ${SHAPE} AS shape, i.source, count(*) AS count, min(i.settled_at) AS since,
       max(i.settled_at) AS until, min(i.id) AS firstId
     FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} GROUP BY 1, 2, 3`,
  ),
  members: column<[string, string, string], number>(
    `SELECT i.id FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} AND i.state = ? AND ${SHAPE} = ? AND i.source = ?`,
  ),
};

/**
 * Groups the stuck items and records. A hundred thousand stuck rows take some milliseconds, because both indexes have
 * all columns that the statements read.
 */
export function stuckGroups(reads: { db: Sqlite }): StuckGroup[] {
  const records = SQL.records(reads).all();
  const ofRecords = records.map((group): RecordGroup => ({ type: 'quarantine', id: causeOfRecords(group), ...group }));
  const items = SQL.items(reads).all();
  const ofItems = items.map((group): ItemGroup => {
    const type = TYPES[group.state];
    return { type, id: causeId(type, group.source, group.shape), ...group };
  });
  return [...ofRecords, ...ofItems];
}

export function findStuckGroup(reads: { db: Sqlite }, id: string): StuckGroup | null {
  return stuckGroups(reads).find((group) => group.id === id) ?? null;
}

/** Finds the members of a selection. A member leaves its group when it is replayed. */
export function selectedBy(reads: Reads, selection: ReplaySelection): Selected {
  if (selection.cause === undefined) return { type: 'deliveries', selection };
  const group = findStuckGroup(reads, selection.cause);
  if (group === null) return null;
  if (group.type === 'quarantine') return { type: 'records', group };
  const { state, shape, source } = group;
  const deliveryIds = SQL.members(reads).all(state, shape, source);
  return { type: 'deliveries', selection: { states: [state], sources: [], keys: [], deliveryIds } };
}

export function parametersOf({ states, sources, keys, deliveryIds }: ReplaySelection): SelectionParameters {
  return {
    states: JSON.stringify(states),
    sources: JSON.stringify(sources),
    keys: JSON.stringify(keys),
    rowKeys: JSON.stringify(keys.flatMap(identitiesOf)),
    ids: JSON.stringify(deliveryIds),
  };
}
