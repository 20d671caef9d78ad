// Conditions on the state of an item's delivery. They repeat the words of the schema's partial indexes, because SQLite
// uses such an index only for the same words. SQLite evaluates the conditions at every write of an item. It compares
// two states directly, but needs a temporary table for a list of three or more.

import { needsNothing } from '../items/never-arrived.ts';

/**
 * SQL condition: true if the item has an open delivery. The parameter is the name of the items table in the SQL
 * statement.
 */
export function isOpen(of: string): string {
  return `${of}.state NOT IN ('delivered', 'superseded')`;
}

/**
 * SQL condition: true if the item's delivery may need a person. The parameter is the name of the items table in the SQL
 * statement.
 */
export function isStuck(of: string): string {
  return `(${of}.state IN ('blocked', 'rejected') OR ${of}.state IN ('parked', 'in_doubt'))`;
}

/**
 * The state of an item: its open delivery's state, else its last delivery's. An item that the platform never got and that
 * its source no longer has is superseded. `of` is the name of the items table in the statement.
 */
export function itemState(of: string): string {
  return `CASE WHEN ${isOpen(of)} THEN ${of}.state WHEN ${of}.ignored_hash IS NOT NULL OR ${needsNothing(of)} THEN 'superseded' ELSE 'delivered' END`;
}
