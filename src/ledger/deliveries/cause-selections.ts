import type { ReplaySelection } from '../../domain/ports/replay.ts';
import { createStuckGroups, NEEDS_PERSON, type RecordGroup, SHAPE } from '../dashboard/stuck-groups.ts';
import type { Sqlite } from '../store/database.ts';

/** The members of a selected cause: quarantined records of a group, or deliveries. Null if the cause is gone. */
export type SelectedByCause =
  | { type: 'records'; group: RecordGroup }
  | { type: 'deliveries'; selection: ReplaySelection }
  | null;

/** Finds the members of causes. Call it inside a transaction, because a member leaves its group when it is replayed. */
export function createCauseSelections(db: Sqlite): (cause: string) => SelectedByCause {
  const groups = createStuckGroups(db);
  const members = db
    .prepare<[string, string, string], number>(
      `SELECT i.id FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} AND i.state = ? AND ${SHAPE} = ? AND i.source = ?`,
    )
    .pluck();

  return (cause) => {
    const group = groups.find(cause);
    if (group === null) return null;
    if (group.type === 'quarantine') return { type: 'records', group };
    const { state, shape, source } = group;
    const deliveryIds = members.all(state, shape, source);
    return { type: 'deliveries', selection: { states: [state], sources: [], keys: [], deliveryIds } };
  };
}
