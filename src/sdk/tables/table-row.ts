import type { Issue, ReportedIssue } from '../../domain/issue.ts';
import { comparableName } from '../../domain/natural-key.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { type SourceRow, sourceFault } from '../connector.ts';

/** True for a row that the connector could not read, so that none of its values is certain. */
export function isUnreadable({ issues }: SourceRow): boolean {
  return issues?.some(({ onlyField }) => onlyField !== true) === true;
}

export function isEmpty(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}

/** True for a row without any value, such as `;;;`. */
export function isBlank(fields: JsonObject): boolean {
  return Object.values(fields).every(isEmpty);
}

/** The issues that the connector has found in one field of a row. */
export function issuesOf({ issues }: SourceRow, field: string): ReportedIssue[] {
  return issues?.filter((issue) => issue.field === field) ?? [];
}

export function addIssues(row: SourceRow, issues: readonly (Issue | ReportedIssue)[]): void {
  if (issues.length > 0) row.issues = [...(row.issues ?? []), ...issues];
}

/** The column that the config means: the one with exactly this name, or the only one that looks like it. */
export function columnLike(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const alike = names.filter((one) => comparableName(one) === comparableName(name));
  return alike.length === 1 ? alike[0] : undefined;
}

const NAMES_SHOWN = 12;

/**
 * The name in the file of a column that an option names.
 *
 * @throws a `sourceFault` if the file has no such column
 */
export function columnOf(name: string, option: string, { names, where }: { names: readonly string[]; where: string }) {
  const found = columnLike(name, names);
  if (found !== undefined) return found;
  const meant = suggest(name, names);
  const end = meant === undefined ? '.' : `; did you mean ${meant}?`;
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  throw sourceFault(`${where}: the column ${name} of \`${option}\` is missing${end}`, {
    suggestion: `Correct \`${option}\`. The file has ${shown}${names.length > NAMES_SHOWN ? ', …' : ''}.`,
  });
}
