import { byteOrderMarksAt } from '../../src/sdk/index.ts';

/** One record of the file. */
export interface RawRecord {
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
export class RecordScanner {
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
