import {
  byteOrderMarksAt,
  createDecimalReader,
  createPageBuffer,
  decimalIssue,
  defineFileConnector,
  encodingIssues,
  type FoundColumns,
  type JsonObject,
  type OpenFile,
  type OwnIssue,
  type Page,
  RAW_FIELD,
  readFileText,
  type SourceRow,
  type TextPiece,
  withoutTextFormula,
} from '../../src/sdk/index.ts';
import { type Column, endOf, type Layout, layoutOf, OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** Text files with columns at fixed positions, which SAP and older systems write. */
export const fixedWidth = defineFileConnector({
  id: 'fixed-width',
  title: 'Text in columns of fixed width (SAP flat files)',
  endings: ['.txt', '.dat'],
  fixedColumns: true,
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, { options, stream, ...request }) =>
    readFixedWidth(file, { layout: layoutOf(options, stream), ...request }),
  columns: (file, { options, stream, ...request }) =>
    readColumnNames(file, { layout: layoutOf(options, stream), ...request }),
});

interface FixedWidthRequest {
  layout: Layout;
  signal: AbortSignal;
  onColumns: (found: FoundColumns) => void;
}

/** Reads the rows of one file. */
async function* readFixedWidth(file: OpenFile, { layout, signal, onColumns }: FixedWidthRequest): AsyncGenerator<Page> {
  onColumns({ names: namesOf(layout), where: file.name });
  const page = createPageBuffer();
  const scanner = new RecordScanner({ recordLength: layout.recordLength, max: layout.maxRecordBytes });
  let build: ReturnType<typeof createRowBuilder> | undefined;
  let toSkip = layout.skipLines;
  for await (const { text, final, encoding } of textOf(file, layout.encoding, signal)) {
    build ??= createRowBuilder({ file: file.name, encoding, layout });
    scanner.feed(text, final);
    for (let record = scanner.next(); record !== null; record = scanner.next()) {
      if (toSkip-- > 0) continue;
      const row = build(record);
      if (row === null || !page.add(row, record.text.length)) continue;
      signal.throwIfAborted();
      yield page.take({ done: file.position(), total: file.bytes });
    }
  }
  if (!page.empty) yield page.take({ done: file.position(), total: file.bytes });
}

/** The names of the columns. Throws if the file is not text. */
async function readColumnNames(file: OpenFile, { layout, signal, onColumns }: FixedWidthRequest): Promise<string[]> {
  for await (const _ of textOf(file, layout.encoding, signal)) break;
  const names = namesOf(layout);
  onColumns({ names, where: file.name });
  return names;
}

function namesOf({ columns, parent }: Layout): string[] {
  return [...(parent?.columns ?? []), ...columns].map(({ name }) => name);
}

const textOf = (file: OpenFile, encoding: string, signal: AbortSignal): AsyncGenerator<TextPiece> =>
  readFileText(file, { encoding, format: 'text in columns of fixed width', accepts: 'idoc', signal });

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
function createRowBuilder({ file, encoding, layout }: RowContext): (record: RawRecord) => SourceRow | null {
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

/** One record of the file. */
interface RawRecord {
  text: string;
  /** The line on which the record begins. In a file without line ends, the number of the record. From 1. */
  line: number;
  /** True for the last record of a file if it has no line end or is too short. */
  isCutOff: boolean;
  /** True if `text` is only the beginning, because the record is too long. */
  isTooLong: boolean;
}

interface RecordScannerOptions {
  recordLength: number | undefined;
  max: number;
}

const RAW_CHARACTERS_MAX = 1_000;
/** The end-of-file character that old systems write after the last record. */
const END_OF_FILE = '\u001a';

/** Cuts text that comes in pieces into records. At most one record, up to the limit, and one piece are in memory. */
class RecordScanner {
  private readonly length: number | undefined;
  private readonly max: number;
  private text = '';
  private position = 0;
  private line = 0;
  private final = false;
  private isDiscarding = false;
  private hasLineEnds = false;

  constructor({ recordLength, max }: RecordScannerOptions) {
    this.length = recordLength;
    this.max = max;
  }

  /** Gives more text. `final` is true for the last piece. */
  feed(text: string, final: boolean): void {
    this.text = this.position < this.text.length ? this.text.slice(this.position) + text : text;
    this.position = 0;
    this.final = final;
  }

  /** The next record; null if more text is needed or there are no more records. */
  next(): RawRecord | null {
    return this.length === undefined ? this.nextLine() : this.nextPiece(this.length);
  }

  private nextLine(): RawRecord | null {
    while (this.position < this.text.length) {
      const found = this.text.indexOf('\n', this.position);
      const end = found === -1 ? this.text.length : found;
      if (this.isDiscarding) {
        this.position = found === -1 ? end : end + 1;
        this.isDiscarding = found === -1;
        continue;
      }
      const isTooLong = end - this.position > this.max;
      if (found === -1 && !this.final && !isTooLong) return null;
      // A byte order mark before a record comes from files that were joined. It would shift all columns.
      const start = this.position + byteOrderMarksAt(this.text, this.position);
      this.position = found === -1 ? end : end + 1;
      this.isDiscarding = found === -1 && !this.final;
      this.line++;
      const isCutOff = found === -1 && this.hasLineEnds && !isTooLong;
      this.hasLineEnds ||= found !== -1;
      let last = end;
      while (last > start && this.text[last - 1] === '\r') last--;
      const text = this.text.slice(start, isTooLong ? start + RAW_CHARACTERS_MAX : last);
      return { text, line: this.line, isCutOff, isTooLong };
    }
    return null;
  }

  private nextPiece(length: number): RawRecord | null {
    this.position += byteOrderMarksAt(this.text, this.position);
    const end = this.position + length;
    if (end > this.text.length && !this.final) return null;
    const text = this.text.slice(this.position, end);
    this.position = Math.min(end, this.text.length);
    // A line end after the last record is not a record.
    if (text.length < length && text.replaceAll(END_OF_FILE, '').trim() === '') return null;
    this.line++;
    return { text, line: this.line, isCutOff: text.length < length, isTooLong: false };
  }
}
