import type { OpenFile } from '../../src/sdk/index.ts';
import type { Element } from './element-row.ts';
import { measureValue } from './value-scanner.ts';

const RAW_BYTES_MAX = 1_000;

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
