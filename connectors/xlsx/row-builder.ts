import {
  cellValue,
  columnLettersOf,
  damageIssue,
  type Issue,
  type JsonObject,
  type SourceRow,
  type SpreadsheetContext,
  withoutTextFormula,
} from '../../src/sdk/index.ts';
import { unnamedColumn } from './header.ts';
import type { RawRow } from './sheet-scanner.ts';

interface RowContext extends SpreadsheetContext {
  file: string;
  sheet: string;
  /** The names by column; undefined for a column without a name so far. */
  names: readonly (string | undefined)[];
  /** True for a column that is skipped. */
  isSkipped: (column: number) => boolean;
}

/** Makes source rows from the rows of a sheet. Null stands for a row without any value. */
export function createRowBuilder(context: RowContext): (row: RawRow) => SourceRow | null {
  const { file, sheet, isSkipped } = context;
  const skipped: boolean[] = [];
  const names = [...context.names];
  // Rows are copies of one object with all names, so that they share a hidden class. JSON.parse makes own properties
  // for all names.
  const shown = names.filter((name, column) => name !== undefined && !isSkipped(column));
  const template = JSON.parse(`{${shown.map((name) => `${JSON.stringify(name)}:""`).join()}}`) as JsonObject;

  return ({ number, cells }) => {
    const fields: JsonObject = { ...template };
    let issues: Issue[] | undefined;
    let isBlank = true;
    for (const cell of cells) {
      const { column } = cell;
      if ((skipped[column] ??= isSkipped(column))) continue;
      const value = cellValue(cell, context);
      if (value === '') continue;
      isBlank = false;
      const name = (names[column] ??= unnamedColumn(column, names));
      if (typeof value === 'object') {
        const { message, ...problem } = value;
        const where = cellOf(column, number, sheet);
        (issues ??= []).push({ ...problem, field: name, message: `${where} ${message}`, onlyField: true });
        fields[name] = value.value;
        continue;
      }
      fields[name] = typeof value === 'string' ? withoutTextFormula(value) : value;
      if (typeof value === 'string' && value.includes('\uFFFD')) {
        (issues ??= []).push(encodingIssue(name, value, cellOf(column, number, sheet)));
      }
    }
    if (isBlank) return null;
    const place = { file, line: number, path: sheet };
    return issues === undefined ? { fields, place } : { fields, place, issues };
  };
}

function cellOf(column: number, row: number, sheet: string): string {
  return `Cell ${columnLettersOf(column)}${row} of the sheet ${sheet}`;
}

function encodingIssue(field: string, value: string, cell: string): Issue {
  const message = `${cell} holds text that is not valid, or was damaged before it was exported.`;
  return damageIssue({ field, message, cure: 'Export the file from the source system again.' }, value);
}
