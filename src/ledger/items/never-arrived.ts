// Items that the platform never got. If the source no longer has such an item, neither a person nor the platform has to do
// anything: its open delivery is superseded, and it is counted nowhere. It stays in the ledger with its history. If its row
// comes back, it is staged again.

import { codesWith } from '../../domain/delivery/reason.ts';
import { mayBeSinceBackup } from '../backup/restored.ts';
import { REVISIONS_MAX } from './revisions.ts';

const MADE_NOTHING = codesWith('made_nothing')
  .map((code) => `'${code}'`)
  .join(', ');

/**
 * SQL condition on a revision: true if it was never sent, or if the last answer to it shows that it made no item. A person
 * who ends a delivery replaces its reason, so then only a delivery that was never sent is known to have made nothing.
 */
function madeNothing(of: string): string {
  const code = `${of}.reason ->> '$.code'`;
  return `iif(${of}.reason IS NULL OR ${code} = 'ignored', ${of}.sent_at IS NULL, ${code} IN (${MADE_NOTHING})
    AND ${of}.reason ->> '$.lookAgain' IS NULL AND ${of}.reason ->> '$.afterDoubt' IS NULL)`;
}

/**
 * SQL condition: true if it is certain that no write of the item has arrived. The API has acknowledged nothing, no write is in
 * flight or unconfirmed, and no revision may have made the item. A parked delivery had no clear answer. I6: what the ledger
 * does not know for certain is false, such as an item whose history was pruned, a BOM item of an adopted product, or a
 * write since the backup of a restored ledger.
 *
 * @param of the name of the items table in the SQL statement
 */
export function neverArrived(of: string): string {
  return `(${of}.acknowledged = 0 AND ${of}.kind <> 'passport' AND ${of}.uncertain = 0 AND ${of}.revision <= ${REVISIONS_MAX}
    AND coalesce(${of}.state, 'due') IN ('waiting', 'due', 'blocked', 'rejected', 'superseded') AND ${madeNothing(of)}
    AND NOT EXISTS (SELECT 1 FROM history h WHERE h.item_id = ${of}.id AND NOT (h.state = 'superseded' AND ${madeNothing('h')}))
    AND NOT EXISTS (SELECT 1 FROM refs f JOIN items p ON p.kind = f.kind AND p.key = f.key
      WHERE f.item_id = ${of}.id AND f.role = 'product' AND p.parts_unknown = 1)
    AND NOT ${mayBeSinceBackup(of)})`;
}

/** SQL condition: true if the source no longer has the item, and the platform never got it, so that nothing has to be done. */
export function needsNothing(of: string): string {
  return `(${of}.missing_since IS NOT NULL AND ${neverArrived(of)})`;
}
