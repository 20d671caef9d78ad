import { formatPlace, type Place, type ReportedIssue } from '../../domain/issue.ts';
import { identifyingText } from '../../domain/natural-key.ts';
import { RAW_FIELD } from '../../domain/record.ts';
import { addDecimals, normalizeDecimal } from '../../lib/decimal.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { type SourceRow, sourceFault } from '../connector.ts';
import type { Group } from './table-options.ts';
import { isBlank, isEmpty, issuesOf, isUnreadable } from './table-row.ts';

/** The columns of the record of a group. */
export function groupColumns({ by, sum = {}, count, first = {} }: Group): string[] {
  return [...by, ...Object.keys(sum), ...(count === undefined ? [] : [count]), ...Object.keys(first)];
}

interface OpenGroup {
  by: JsonValue[];
  place: Place;
  rows: number;
  /** The sums so far; null for a sum that has met a value which is no number. */
  sums: (string | null)[];
  first: JsonValue[];
  issues: ReportedIssue[];
  /** How many issues are left out. */
  further: number;
}

/** What a group takes in memory besides its texts. */
const GROUP_BYTES = 500;
const CHARACTER_BYTES = 2;
const ISSUES_MAX = 10;

/** The rows of one read, gathered in groups. */
export interface GroupedRows {
  /**
   * Takes rows in their order. Returns those that are records of their own, because their group is not known.
   *
   * @throws a `sourceFault` if the groups need more memory than they may take
   */
  add(rows: readonly SourceRow[]): SourceRow[];
  /** The records of all groups, in the order of their first rows. Call it when all rows were added. */
  records(): Generator<SourceRow>;
}

/**
 * Gathers rows in groups. A record is only made when all rows are known, because a row of any group may come last. Where a row
 * may belong to any group, no sum is certain: then each record has an issue.
 */
export function createGroupedRows(options: Group): GroupedRows {
  const { by, count, maxBytes } = options;
  const sums = Object.entries(options.sum ?? {});
  const firsts = Object.entries(options.first ?? {});
  const groups = new Map<string, OpenGroup>();
  let bytes = 0;
  let lost: string | null = null;

  function hold(values: readonly JsonValue[]): void {
    for (const value of values) {
      bytes += CHARACTER_BYTES * (typeof value === 'string' ? value.length : JSON.stringify(value).length);
    }
    if (bytes <= maxBytes) return;
    throw sourceFault(
      `The ${groups.size} groups so far need more than ${maxBytes} bytes of memory. No record is stored.`,
      {
        suggestion: 'Raise `group.maxBytes` of the stream, or correct the columns of `group.by`.',
      },
    );
  }

  function groupOf(row: SourceRow): OpenGroup {
    const values = by.map((name) => row.fields[name] ?? '');
    const key = JSON.stringify(
      values.map((value) => (typeof value === 'string' ? identifyingText(value).text : value)),
    );
    const known = groups.get(key);
    if (known !== undefined) return known;
    const { place } = row;
    const made: OpenGroup = {
      by: values,
      place,
      rows: 0,
      sums: sums.map(() => '0'),
      first: firsts.map(() => ''),
      issues: [],
      further: 0,
    };
    groups.set(key, made);
    bytes += GROUP_BYTES;
    // The key repeats the values.
    hold([...values, ...values]);
    return made;
  }

  function report(group: OpenGroup, issue: ReportedIssue): void {
    if (group.issues.length >= ISSUES_MAX) {
      group.further++;
      return;
    }
    group.issues.push(issue);
    hold([issue.message]);
  }

  function addTo(group: OpenGroup, row: SourceRow): void {
    group.rows++;
    for (const [at, [name, column]] of sums.entries()) {
      const value = row.fields[column] ?? '';
      const [wrong] = issuesOf(row, column);
      const number = wrong === undefined && typeof value === 'string' ? normalizeDecimal(value.trim()) : null;
      if (number === null) report(group, sumIssue(name, { column, value, place: row.place }));
      const sum = group.sums[at] ?? null;
      group.sums[at] = number === null || sum === null ? null : addDecimals(sum, number);
    }
    for (const [at, [name, column]] of firsts.entries()) {
      const value = row.fields[column] ?? '';
      if (!isEmpty(group.first[at]) || isEmpty(value)) continue;
      group.first[at] = value;
      hold([value]);
      for (const issue of issuesOf(row, column)) report(group, { ...issue, field: name });
    }
  }

  function recordOf({ by: values, place, rows, sums: totals, first, issues, further }: OpenGroup): SourceRow {
    const fields: JsonObject = Object.fromEntries([
      ...by.map((name, at) => [name, values[at] ?? '']),
      ...sums.map(([name], at) => [name, totals[at] ?? '']),
      ...(count === undefined ? [] : [[count, String(rows)]]),
      ...firsts.map(([name], at) => [name, first[at] ?? '']),
    ]);
    const all = [
      ...issues,
      ...(further === 0 ? [] : [furtherIssue(further)]),
      ...(lost === null ? [] : [lostIssue(lost)]),
    ];
    return all.length === 0 ? { fields, place } : { fields, place, issues: all };
  }

  return {
    add(rows) {
      const own: SourceRow[] = [];
      for (const row of rows) {
        if (!isUnreadable(row) && isBlank(row.fields)) continue;
        const missing = by.find((name) => isEmpty(row.fields[name]) || issuesOf(row, name).length > 0);
        if (!isUnreadable(row) && missing === undefined) addTo(groupOf(row), row);
        else {
          lost ??= formatPlace(row.place);
          own.push(rowWithoutGroup(row, by, missing));
        }
      }
      return own;
    },
    *records() {
      for (const group of groups.values()) yield recordOf(group);
    },
  };
}

/** The record of a row whose group is not known. It has no key, since the key would be that of a group. */
function rowWithoutGroup(row: SourceRow, by: readonly string[], missing: string | undefined): SourceRow {
  const { fields, place, issues = [] } = row;
  if (isUnreadable(row)) {
    const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !by.includes(name)));
    return { fields: RAW_FIELD in rest ? rest : { ...rest, [RAW_FIELD]: JSON.stringify(fields) }, place, issues };
  }
  const found = issuesOf(row, missing ?? '').length > 0 ? 'no certain value' : 'no value';
  const group: ReportedIssue = {
    code: 'row.group',
    message: `Column ${missing ?? ''} has ${found}, so it is not known which group the row belongs to.`,
    field: missing ?? '',
    cure: 'Fill the column in the export. If the value stands only in the first row of a group, name the column in `fill` of the stream.',
  };
  return { fields, place, issues: [group, ...issues] };
}

const SHOWN_MAX = 200;

function sumIssue(
  name: string,
  { column, value, place }: { column: string; value: JsonValue; place: Place },
): ReportedIssue {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const shown = text.slice(0, SHOWN_MAX);
  const found = isEmpty(value) ? 'is empty' : `holds ${JSON.stringify(shown)}, which is not a plain number`;
  return {
    code: 'row.sum',
    message: `Column ${column} of the row at ${formatPlace(place)} ${found}, so the sum ${name} is not certain.`,
    field: name,
    value: shown,
    cure: `Correct the row at ${formatPlace(place)}. For numbers with decimal commas name the column in \`decimalColumns\`, if the connector has this option.`,
    onlyField: true,
  };
}

function furtherIssue(count: number): ReportedIssue {
  return { code: 'row.sum', message: `The group has ${count} further issues, which are not listed.` };
}

function lostIssue(place: string): ReportedIssue {
  return {
    code: 'row.group',
    message: `It is not known which group the row at ${place} belongs to, so no sum of this read is certain.`,
    cure: `Correct the row at ${place}.`,
  };
}
