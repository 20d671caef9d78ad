/** All revisions of all items in a ledger, for use as a table in a statement. */
export const REVISIONS = `(SELECT id AS item_id, revision, operation, state, attempts, staged_at, sent_at, settled_at FROM items
    WHERE state IS NOT NULL
  UNION ALL SELECT item_id, revision, operation, state, attempts, staged_at, sent_at, settled_at FROM history)`;

/** A condition: true if a revision of an item `i` is open. */
export const IS_OPEN = "i.state IN ('waiting', 'due', 'sending', 'in_doubt', 'blocked', 'rejected', 'parked')";
