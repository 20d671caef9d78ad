// Conditions on the state of an item's delivery, in the very words of the partial indexes of the schema: SQLite uses such an index
// only for statements that are written like it. It also evaluates those words for every write of an item, for which it compares
// with two states directly, and makes a table of three or more.

/** True of an item whose delivery is not over. `of` names its table in the statement. */
export function isOpen(of: string): string {
  return `${of}.state NOT IN ('delivered', 'superseded')`;
}

/** True of an item whose delivery may need a person. `of` names its table in the statement. */
export function isStuck(of: string): string {
  return `(${of}.state IN ('blocked', 'rejected') OR ${of}.state IN ('parked', 'in_doubt'))`;
}

/** The state of an item: that of its open delivery, or where it stands without one. `of` names its table in the statement. */
export function itemState(of: string): string {
  return `CASE WHEN ${isOpen(of)} THEN ${of}.state WHEN ${of}.ignored_hash IS NULL THEN 'delivered' ELSE 'superseded' END`;
}
