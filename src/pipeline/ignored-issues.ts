import { holdingIssues, type Issue } from '../domain/issue.ts';
import { formatPlace, type Place } from '../domain/place.ts';
import type { SourceRow } from '../domain/ports/source.ts';

/**
 * The rows of one read that are used although the connector has found issues in them.
 *
 * @param used the columns that the mappings use; null if they may use any column that is not omitted
 */
export function createIgnoredIssues(
  used: ReadonlySet<string> | null,
  { key, omitted }: { key: readonly string[]; omitted: ReadonlySet<string> },
) {
  const needed = used === null ? null : new Set([...used, ...key]);
  const isStored = ({ field, onlyField }: Issue): boolean =>
    onlyField !== true || field === undefined || key.includes(field) || !omitted.has(field);

  const columns = new Set<string>();
  let first: Place | null = null;
  let rows = 0;
  return {
    count(found: readonly SourceRow[]) {
      for (const { issues = [], place } of found) {
        if (issues.length === 0 || holdingIssues(issues.filter(isStored), needed).length > 0) continue;
        rows += 1;
        first ??= place;
        for (const { field } of issues) if (field !== undefined) columns.add(field);
      }
    },
    /** A sentence for people about the rows; null if there are none. */
    describe(): string | null {
      if (first === null) return null;
      const many = rows === 1 ? 'One row has' : `${rows} rows have`;
      return `${many} an unreadable value in a column that no mapping uses, and ${rows === 1 ? 'is' : 'are'} used without it: ${[...columns].join(', ')}, first at ${formatPlace(first)}.`;
    },
  };
}
