import type { OpenFile } from '../../src/sdk/index.ts';
import type { Element } from './element-row.ts';
import { byteOrderMarksAt } from './read-bytes.ts';
import { measureValue } from './value-scanner.ts';

const LINE_FEED = 0x0a;
const RAW_BYTES_MAX = 1_000;

/**
 * Cuts NDJSON into lines. At most one line, up to `maxRecordBytes`, and one chunk are in memory. Of a longer line only
 * the beginning is reported, and the rest is skipped. Blank lines are not elements.
 */
export class LineScanner {
  private readonly file: OpenFile;
  private readonly max: number;
  private buffer: Buffer = Buffer.alloc(0);
  private position = 0;
  private line = 0;
  private final = false;
  private discarding = false;

  constructor(options: { file: OpenFile; maxRecordBytes: number }) {
    this.file = options.file;
    this.max = options.maxRecordBytes;
  }

  feed(chunk: Buffer, final: boolean): void {
    const rest = this.buffer.subarray(this.position);
    this.buffer = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    this.position = 0;
    this.final = final;
  }

  /** The next line as an element, or null if more text is needed or there are no more lines. */
  next(): Element | null {
    while (this.position < this.buffer.length) {
      const found = this.buffer.indexOf(LINE_FEED, this.position);
      if (this.discarding) {
        this.position = found === -1 ? this.buffer.length : found + 1;
        this.discarding = found === -1;
        continue;
      }
      const end = found === -1 ? this.buffer.length : found;
      const tooLong = end - this.position > this.max;
      if (found === -1 && !this.final && !tooLong) return null;
      const whole = this.buffer.subarray(this.position + byteOrderMarksAt(this.buffer, this.position), end);
      const bytes = tooLong ? Buffer.from(whole.subarray(0, RAW_BYTES_MAX)) : whole;
      this.position = found === -1 ? end : end + 1;
      this.discarding = found === -1;
      this.line++;
      if (isBlank(bytes)) continue;
      return { bytes, tooLong, ...measureValue(bytes), place: { file: this.file.name, line: this.line } };
    }
    return null;
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}

/** Gives a whole file as one element. Of a file that is longer than `maxRecordBytes`, only the beginning is in memory. */
export class ObjectScanner {
  private readonly file: OpenFile;
  private readonly max: number;
  private chunks: Buffer[] = [];
  private length = 0;
  private final = false;

  constructor(options: { file: OpenFile; maxRecordBytes: number }) {
    this.file = options.file;
    this.max = options.maxRecordBytes;
  }

  feed(chunk: Buffer, final: boolean): void {
    if (this.length <= this.max) this.chunks.push(chunk);
    this.length += chunk.length;
    this.final = final;
  }

  /** The element after the last piece of the file; null before it, and after the element. */
  next(): Element | null {
    if (!this.final) return null;
    this.final = false;
    const tooLong = this.length > this.max;
    const whole = Buffer.concat(this.chunks);
    this.chunks = [];
    const bytes = tooLong ? whole.subarray(0, RAW_BYTES_MAX) : whole;
    return { bytes, tooLong, ...measureValue(bytes), place: { file: this.file.name, line: 1 } };
  }
}
