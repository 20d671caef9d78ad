// Conditions on the state of a delivery, in the very words of the partial indexes in schema.ts: SQLite uses such an index
// only for statements that are written like it. It also judges every write of a delivery by those words, for which it
// compares with two states directly, and makes a table of three or more.

/** True of a delivery that is not over. `of` names its table in the statement. */
export function isOpen(of: string): string {
  return `${of}.state NOT IN ('delivered', 'superseded')`;
}

/** True of a delivery that may need a person. `of` names its table in the statement. */
export function isStuck(of: string): string {
  return `(${of}.state IN ('blocked', 'rejected') OR ${of}.state IN ('parked', 'in_doubt'))`;
}

/** The state of an item: that of its open delivery, or where it stands without one. `i` and `d` name the tables. */
export function itemState(i: string, d: string): string {
  return `coalesce(${d}.state, CASE WHEN ${i}.ignored_hash IS NULL THEN 'delivered' ELSE 'superseded' END)`;
}
