// The members of a cause: rows in quarantine, items, or failed runs.

import { NO_REASON, storedReason } from '../../domain/delivery/stored-reason.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { CauseMember, Listed, ListPage } from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-views.ts';
import { itemState } from '../items/missing.ts';
import {
  FIRST_CODE,
  FIRST_FIELD,
  findStuckGroup,
  IS_QUARANTINED,
  type ItemGroup,
  NEEDS_PERSON,
  type RecordGroup,
  SHAPE,
  type StuckGroup,
} from '../items/stuck-groups.ts';
import { column, perDatabase, statement } from '../store/tx.ts';
import { type QuarantineRow, quarantinedRecord, runsOf } from '../views/source-views.ts';
import type { Db } from '../views/view-reads.ts';
import type { DashboardReads } from './catalog.ts';
import { FIRST_VALUE } from './group-figures.ts';
import { limitOf, pageOfRows, placeOf } from './lists.ts';
import { membersOfMissing } from './missing-parts.ts';
import { failedRuns } from './source-causes.ts';

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

type Bounds = { after: number; limit: number; value: string | null };
type StoredRecord = Pick<QuarantineRow, 'id' | 'key' | 'place' | 'raw' | 'issues'>;

const MEMBERS = {
  records: statement<[Pick<RecordGroup, 'streamId' | 'code' | 'field'> & Bounds], StoredRecord>(
    `SELECT r.id, r.key, r.place, r.raw, CASE WHEN json_valid(r.issues) THEN r.issues END AS issues FROM records r INDEXED BY records_by_issue
     WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field
       AND (@value IS NULL OR ${FIRST_VALUE} = @value) AND r.id > @after ORDER BY r.id LIMIT @limit`,
  ),
  countOfValue: column<[Pick<RecordGroup, 'streamId' | 'code' | 'field'> & { value: string }], number>(
    `SELECT count(*) FROM records r INDEXED BY records_by_issue
     WHERE ${IS_QUARANTINED} AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field
       AND ${FIRST_VALUE} = @value`,
  ),
  items: statement<[Pick<ItemGroup, 'state' | 'shape' | 'source'> & Pick<Bounds, 'after' | 'limit'>], ItemRow>(
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
export function causeMembers(
  reads: DashboardReads,
  id: string,
  asked: ListPage & { value?: string | undefined },
): Listed<CauseMember> {
  const limit = limitOf(asked);
  const after = Number(placeOf(asked).after?.[0] ?? 0);
  const { count, members } = membersOf(reads, id, { after, limit: limit + 1, value: asked.value ?? null });
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
    const waiting = membersOfMissing(reads, id, bounds);
    if (waiting !== null) return waiting;
    const failed = failedRuns(reads).find((one) => one.id === id);
    const ids = (failed?.runs ?? []).toReversed().filter((run) => run > bounds.after);
    const runs = runsOf(reads, ids.slice(0, bounds.limit));
    return { count: failed?.count ?? 0, members: runs.map((run) => ({ id: run.id, member: { ...none, run } })) };
  }
  if (group.type === 'quarantine') {
    const { streamId, code, field, source, stream } = group;
    const { value } = bounds;
    const rows = MEMBERS.records(reads).all({ streamId, code, field, ...bounds });
    const members = rows.map((row) => ({
      id: row.id,
      member: { ...none, record: quarantinedRecord({ ...row, source, stream }) },
    }));
    const count =
      value === null ? group.count : (MEMBERS.countOfValue(reads).get({ streamId, code, field, value }) ?? 0);
    return { count, members };
  }
  const { state, shape, source } = group;
  const { after, limit } = bounds;
  const rows = MEMBERS.items(reads).all({ state, shape, source, after, limit });
  const members = rows.map(({ id: itemId, reason, ...item }) => {
    const stored = storedReason(reason) ?? { ...NO_REASON, message: 'No reason was kept.' };
    return { id: itemId, member: { ...none, item: { ...item, reason: stored } } };
  });
  return { count: group.count, members };
}
