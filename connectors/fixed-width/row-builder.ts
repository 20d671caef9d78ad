import {
  createDecimalReader,
  decimalIssue,
  encodingIssues,
  type JsonObject,
  type OwnIssue,
  RAW_FIELD,
  type SourceRow,
  withoutTextFormula,
} from '../../src/sdk/index.ts';
import type { RawRecord } from './record-scanner.ts';
import { type Column, endOf, type Layout } from './schema.ts';

const NO_DECIMAL = 'Correct the value, the position of the column, or `decimalMark`.';

interface RowContext {
  file: string;
  /** The encoding in use, for messages. */
  encoding: string;
  layout: Layout;
}

/**
 * Makes rows from records. Null stands for a blank record, and for a record of another type.
 *
 * A record that is shorter than its columns has no value in the last columns: many systems cut the blanks at the end of
 * a line. If the last line of a file has no line end, the file may be cut off there.
 */
export function createRowBuilder({ file, encoding, layout }: RowContext): (record: RawRecord) => SourceRow | null {
  const { columns, prefix, parent } = layout;
  const read = createReader(columns, layout);
  const readParent = parent === undefined ? undefined : createReader(parent.columns, layout);
  const end = Math.max(...columns.map(endOf));
  let above: { fields: JsonObject; issues: OwnIssue[] } | undefined;

  return ({ text, line, isCutOff, isTooLong }) => {
    const place = { file, line };
    if (isTooLong) {
      const issues = [tooLong(line, layout.maxRecordBytes)];
      // The records after this parent record must not get the fields of an earlier parent record.
      if (parent !== undefined && text.startsWith(parent.prefix)) above = { fields: {}, issues };
      return { fields: { [RAW_FIELD]: text }, place, issues };
    }
    if (text.trim() === '') return null;
    const isRow = prefix === undefined || text.startsWith(prefix);
    if (parent !== undefined && text.startsWith(parent.prefix) && !(isRow && isLonger(prefix, parent.prefix))) {
      above = readParent?.(text);
      if (text.includes('\uFFFD')) above?.issues.push(...encodingIssues(above.fields, { line, encoding }));
      return null;
    }
    if (!isRow) return null;
    const { fields, issues } = read(text);
    if (parent !== undefined) {
      if (above === undefined) issues.push(noParent(line, parent.prefix));
      else issues.push(...above.issues);
    }
    if (isCutOff && text.length < end) issues.push(cutOff(line));
    const all = above === undefined ? fields : { ...above.fields, ...fields };
    if (text.includes('\uFFFD')) issues.push(...encodingIssues(fields, { line, encoding }));
    if (issues.length === 0) return { fields: all, place };
    const isReadable = issues.every(({ onlyField }) => onlyField === true);
    return { fields: isReadable ? all : { ...all, [RAW_FIELD]: text }, place, issues };
  };
}

/** True if the first prefix is longer. If both prefixes fit a record, the longer one decides. */
function isLonger(prefix: string | undefined, other: string): boolean {
  return prefix !== undefined && prefix.length > other.length;
}

type Reader = (text: string) => { fields: JsonObject; issues: OwnIssue[] };

function createReader(columns: readonly Column[], { trim, decimalMark }: Layout): Reader {
  const toDecimal = createDecimalReader(decimalMark);
  const cuts = columns.map((column) => ({ ...column, start: column.from - 1, end: endOf(column) }));
  const trimmed = (value: string) => (trim === 'both' ? value.trim() : trim === 'end' ? value.trimEnd() : value);
  // JSON.parse makes own properties for all names, even for `__proto__`.
  const template = JSON.parse(`{${cuts.map(({ name }) => `${JSON.stringify(name)}:""`).join()}}`) as JsonObject;
  return (text) => {
    const fields: JsonObject = { ...template };
    const issues: OwnIssue[] = [];
    for (const { name, start, end, type, decimals } of cuts) {
      const value = trimmed(text.slice(start, end));
      if (type === 'date') fields[name] = /^0*$/.test(value.trim()) ? '' : value;
      else if (type === 'decimal') {
        const number = toDecimal(value);
        const isMarked = decimals === undefined || value.includes(decimalMark);
        if (typeof number === 'string') fields[name] = isMarked ? number : withMark(number, decimals);
        else {
          fields[name] = value;
          issues.push(decimalIssue(name, value, { mark: decimalMark, cure: NO_DECIMAL }));
        }
      } else fields[name] = withoutTextFormula(value);
    }
    return { fields, issues };
  };
}

/** Adds the decimal mark if it is not written: 12345 with two decimals is 123.45. Text that is no number does not change. */
function withMark(number: string, decimals: number): string {
  if (!/^-?\d+$/.test(number)) return number;
  const sign = number.startsWith('-') ? '-' : '';
  const digits = number.slice(sign.length).padStart(decimals + 1, '0');
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

function tooLong(line: number, max: number): OwnIssue {
  return {
    code: 'row.length',
    message: `The record at line ${line} is longer than ${max} characters.`,
    cure: 'If the file has no line ends, set `recordLength`. Otherwise raise `maxRecordBytes`.',
  };
}

function cutOff(line: number): OwnIssue {
  return {
    code: 'row.cut',
    message: `The record at line ${line} is the last record and is shorter than its columns, so the file may be cut off.`,
  };
}

function noParent(line: number, prefix: string): OwnIssue {
  return {
    code: 'row.parent',
    message: `No record that begins with ${JSON.stringify(prefix)} is above the record at line ${line}.`,
  };
}
