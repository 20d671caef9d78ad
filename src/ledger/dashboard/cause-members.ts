import { NO_REASON, storedReason } from '../../domain/delivery/reason.ts';
import type { Issue } from '../../domain/issue.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { Place } from '../../domain/place.ts';
import type { CauseMember, DashboardViews, Listed } from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState, RunView } from '../../domain/ports/ledger/ledger-views.ts';
import type { JsonObject } from '../../lib/json.ts';
import { itemState } from '../deliveries/delivery-states.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';
import type { FailedRuns } from './failed-runs.ts';
import { limitOf, placeOf, placeText } from './list-page.ts';
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
} from './stuck-groups.ts';

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
