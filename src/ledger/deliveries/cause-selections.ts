import type { ReplaySelection } from '../../domain/ports/replay.ts';
import { column } from '../store/statement.ts';
import type { Reads } from '../store/tx.ts';
import { findStuckGroup, NEEDS_PERSON, type RecordGroup, SHAPE } from './stuck-groups.ts';

/** The members of a selected cause: quarantined records of a group, or deliveries. Null if the cause is gone. */
export type SelectedByCause =
  | { type: 'records'; group: RecordGroup }
  | { type: 'deliveries'; selection: ReplaySelection }
  | null;

const members = column<[string, string, string], number>(
  `SELECT i.id FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} AND i.state = ? AND ${SHAPE} = ? AND i.source = ?`,
);

/** Finds the members of causes. A member leaves its group when it is replayed. */
export function selectedByCause(reads: Reads, cause: string): SelectedByCause {
  const group = findStuckGroup(reads, cause);
  if (group === null) return null;
  if (group.type === 'quarantine') return { type: 'records', group };
  const { state, shape, source } = group;
  const deliveryIds = members(reads).all(state, shape, source);
  return { type: 'deliveries', selection: { states: [state], sources: [], keys: [], deliveryIds } };
}
