import { comparableName } from '../domain/identifying-text.ts';
import type { SourceRow } from '../domain/ports/source.ts';

/**
 * The config's names of columns of a table whose names differ from them only in form, by the names in the table. A column that has
 * exactly a name of the config is not renamed, and neither is one of several columns with similar names.
 */
export function namesOfConfig(present: readonly string[], named: Iterable<string>): ReadonlyMap<string, string> {
  const exact = new Set(present);
  const byForm = Map.groupBy(present, comparableName);
  const renamed = new Map<string, string>();
  for (const name of named) {
    if (exact.has(name)) continue;
    const [like, other] = byForm.get(comparableName(name)) ?? [];
    if (like !== undefined && other === undefined && !renamed.has(like)) renamed.set(like, name);
  }
  return renamed;
}

/** The row with the config's names. The order of its fields does not change. */
export function renameColumns(row: SourceRow, names: ReadonlyMap<string, string>): SourceRow {
  if (names.size === 0) return row;
  const nameOf = (name: string): string => names.get(name) ?? name;
  const fields = Object.fromEntries(Object.entries(row.fields).map(([name, value]) => [nameOf(name), value]));
  const issues = row.issues?.map((issue) =>
    issue.field === undefined ? issue : { ...issue, field: nameOf(issue.field) },
  );
  return { ...row, fields, ...(issues === undefined ? {} : { issues }) };
}
