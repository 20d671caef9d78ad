import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTextGatherer } from './text-gatherer.ts';
import type { PartHandlers } from './xml-part.ts';

/** Texts beyond so many characters are kept in a temporary file. */
const MEMORY_CHARACTERS = 32 * 1024 * 1024;
const STRINGS_MAX = 10_000_000;
/** What a text takes besides its characters. */
const TEXT_OVERHEAD = 64;
const BLOCK_BYTES = 64 * 1024;
const BLOCKS_KEPT = 64;

/** The texts that cells refer to by number. */
export interface SharedStrings {
  /** Undefined for a number that there is no text for. */
  get(index: number): string | undefined;
  /** Removes the temporary file. */
  close(): void;
}

/** The table of a workbook that has none. */
export const NO_STRINGS: SharedStrings = { get: () => undefined, close() {} };

/**
 * Gathers the texts of `sharedStrings.xml`. The first ones stay in memory, the rest goes to a temporary file, because a
 * workbook may hold gigabytes of text. Cells mostly refer to texts in their order, so few blocks of the file are read
 * more than once.
 */
export function createStringTable(options: { cellMax: number; memoryMax?: number }): {
  part: PartHandlers;
  strings: SharedStrings;
} {
  const { cellMax, memoryMax = MEMORY_CHARACTERS } = options;
  const kept: string[] = [];
  const text = createTextGatherer(cellMax);
  let overflow: Overflow | undefined;
  let characters = 0;

  function keep(value: string): void {
    characters += value.length + TEXT_OVERHEAD;
    if (characters <= memoryMax) kept.push(value);
    else (overflow ??= createOverflow()).add(value);
    if (kept.length + (overflow?.count ?? 0) > STRINGS_MAX) throw new Error(`it has more than ${STRINGS_MAX} texts`);
  }

  const part: PartHandlers = {
    open(name) {
      if (name === 'si') text.begin();
      else text.open(name);
    },
    text: (piece) => text.add(piece),
    close(name) {
      if (name === 'si') keep(text.take());
      else text.close(name);
    },
  };
  const strings: SharedStrings = {
    get: (index) => kept[index] ?? overflow?.get(index - kept.length),
    close: () => overflow?.close(),
  };
  return { part, strings };
}

interface Overflow {
  readonly count: number;
  add(text: string): void;
  get(index: number): string | undefined;
  close(): void;
}

function createOverflow(): Overflow {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-sync-xlsx-'));
  const handle = openSync(join(folder, 'strings'), 'wx+', 0o600);
  /** Where each text begins; the last entry is the end. */
  const starts = [0];
  const blocks = new Map<number, Buffer>();
  let end = 0;
  let pending = '';

  function flush(): void {
    if (pending === '') return;
    writeFileSync(handle, pending);
    pending = '';
    // A block that was read may have ended where the file did.
    blocks.clear();
  }

  function blockAt(number: number): Buffer {
    const known = blocks.get(number);
    if (known !== undefined) return known;
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    const bytes = readSync(handle, block, 0, BLOCK_BYTES, number * BLOCK_BYTES);
    // The oldest block goes: a map keeps the order of insertion.
    if (blocks.size >= BLOCKS_KEPT) blocks.delete(blocks.keys().next().value ?? 0);
    blocks.set(number, block.subarray(0, bytes));
    return block.subarray(0, bytes);
  }

  function bytesFrom(start: number, end: number): Buffer {
    const pieces: Buffer[] = [];
    for (let at = start; at < end; ) {
      const number = Math.floor(at / BLOCK_BYTES);
      const from = at - number * BLOCK_BYTES;
      const piece = blockAt(number).subarray(from, Math.min(BLOCK_BYTES, from + end - at));
      if (piece.length === 0) throw new Error('the temporary file of its texts was cut off');
      pieces.push(piece);
      at += piece.length;
    }
    return Buffer.concat(pieces);
  }

  return {
    get count() {
      return starts.length - 1;
    },
    add(text) {
      end += Buffer.byteLength(text);
      starts.push(end);
      pending += text;
      if (pending.length >= BLOCK_BYTES) flush();
    },
    get(index) {
      const [start, end] = [starts[index], starts[index + 1]];
      if (start === undefined || end === undefined) return undefined;
      flush();
      const number = Math.floor(start / BLOCK_BYTES);
      const from = start - number * BLOCK_BYTES;
      const block = blockAt(number);
      const isWhole = from + end - start <= block.length;
      return isWhole ? block.toString('utf8', from, from + end - start) : bytesFrom(start, end).toString('utf8');
    },
    close() {
      closeSync(handle);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
