import { formatPlace } from '../../domain/issue.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { SourceRow } from '../connector.ts';
import { addIssues, isBlank, isEmpty, issuesOf, isUnreadable } from './table-row.ts';

/** What the rows above have in one column. */
interface Above {
  value: JsonValue;
  /** The issues of that value. */
  issues: NonNullable<SourceRow['issues']>;
  /** The place of an unreadable row below that value, which may have had another one. */
  lost: string | null;
}

const NOTHING: Above = { value: '', issues: [], lost: null };

/**
 * Gives empty cells the value of the row above. Only the values of one row are held.
 *
 * @param columns the columns, that of the outermost group first. Where a column has another value than above, a new group
 *   begins, and the columns after it take nothing from the rows above.
 */
export function createFillDown(columns: readonly string[]): (row: SourceRow) => void {
  let above: Above[] = columns.map(() => NOTHING);
  return (row) => {
    const { fields } = row;
    if (isUnreadable(row)) {
      const lost = formatPlace(row.place);
      above = above.map((one) => ({ ...one, lost }));
      return;
    }
    if (isBlank(fields)) return;
    let isSameGroup = true;
    for (const [at, name] of columns.entries()) {
      const value = fields[name] ?? '';
      const { value: last, issues, lost } = above[at] ?? NOTHING;
      if (!isEmpty(value)) {
        if (!isSame(value, last)) isSameGroup = false;
        above[at] = { value, issues: issuesOf(row, name), lost: null };
      } else if (!isSameGroup) above[at] = NOTHING;
      else if (lost !== null) addIssues(row, [lostIssue(name, lost)]);
      else {
        fields[name] = last;
        addIssues(row, issues);
      }
    }
  };
}

function isSame(one: JsonValue, other: JsonValue): boolean {
  return typeof one === 'string' && typeof other === 'string' ? one.trim() === other.trim() : one === other;
}

function lostIssue(field: string, place: string): NonNullable<SourceRow['issues']>[number] {
  return {
    code: 'row.above',
    message: `Column ${field} is empty and takes the value above, but the row at ${place} could not be read, and may have another value.`,
    field,
    cure: `Correct the row at ${place}.`,
    onlyField: true,
  };
}
