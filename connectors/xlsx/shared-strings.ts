import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTextGatherer, type PartHandlers } from './xml-part.ts';

/** When the texts have more bytes than this, the rest is stored in a temporary file. */
const MEMORY_BYTES = 32 * 1024 * 1024;
const STRINGS_MAX = 10_000_000;

/** The texts that cells refer to by number. */
export interface SharedStrings {
  /** The text with a number; undefined if there is none. */
  get(index: number): string | undefined;
  /** Removes the temporary file. */
  close(): void;
}

/** The table for a workbook without shared texts. */
export const NO_STRINGS: SharedStrings = { get: () => undefined, close() {} };

/** Collects the texts of `sharedStrings.xml`. A workbook may have gigabytes of them. */
export function createStringTable(options: { cellMax: number; memoryBytes?: number }): {
  part: PartHandlers;
  strings: SharedStrings;
} {
  const { cellMax, memoryBytes = MEMORY_BYTES } = options;
  const text = createTextGatherer(cellMax);
  const texts = createTextStore({ memoryBytes });
  const part: PartHandlers = {
    open(name) {
      if (name === 'si') text.begin();
      else text.open(name);
    },
    text: (piece) => text.add(piece),
    close(name) {
      if (name !== 'si') {
        text.close(name);
        return;
      }
      texts.add(text.take());
      if (texts.count > STRINGS_MAX) throw new Error(`it has more than ${STRINGS_MAX} texts`);
    },
  };
  return { part, strings: texts };
}

const BLOCK_BYTES = 64 * 1024;
const BLOCKS_KEPT = 64;
const STARTS_IN_PIECE = 64 * 1024;

/**
 * Texts in their order. Keeps texts as bytes in blocks, because a million strings take several times the memory of
 * their characters. The first blocks stay in memory and the rest goes to a temporary file. In a text that is not valid
 * UTF-16, U+FFFD replaces each lone surrogate.
 */
function createTextStore({ memoryBytes }: { memoryBytes: number }) {
  const starts = createStarts();
  const memory: Buffer[] = [];
  const blocksInMemory = Math.floor(memoryBytes / BLOCK_BYTES);
  let file: BlockFile | undefined;
  /** The block that is being written, and how much of it is used. */
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let used = 0;
  let blocks = 0;
  let isAscii = true;
  starts.add(0);

  function finishBlock(): void {
    if (blocks < blocksInMemory) {
      memory.push(block);
      block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    } else (file ??= createBlockFile()).write(block);
    blocks++;
    used = 0;
  }

  function addAcrossBlocks(text: string): void {
    const bytes = Buffer.from(text);
    isAscii &&= bytes.length === text.length;
    for (let at = 0; at < bytes.length; ) {
      const copied = bytes.copy(block, used, at);
      at += copied;
      used += copied;
      if (used === BLOCK_BYTES) finishBlock();
    }
  }

  function blockAt(number: number): Buffer {
    if (number === blocks) return block;
    return memory[number] ?? file?.read(number - memory.length) ?? block;
  }

  function getAcrossBlocks(start: number, end: number): string {
    const pieces: Buffer[] = [];
    for (let at = start; at < end; ) {
      const from = at % BLOCK_BYTES;
      const piece = blockAt((at - from) / BLOCK_BYTES).subarray(from, from + end - at);
      pieces.push(piece);
      at += piece.length;
    }
    return Buffer.concat(pieces).toString();
  }

  return {
    get count() {
      return starts.count - 1;
    },
    add(text: string): void {
      // A character of UTF-16 takes three bytes of UTF-8 at most.
      if (text.length * 3 >= BLOCK_BYTES - used) addAcrossBlocks(text);
      else {
        const written = block.write(text, used);
        isAscii &&= written === text.length;
        used += written;
      }
      starts.add(blocks * BLOCK_BYTES + used);
    },
    /** The text with a number; undefined if there is none. */
    get(index: number): string | undefined {
      const start = starts.get(index);
      const end = starts.get(index + 1);
      if (start === undefined || end === undefined) return undefined;
      const from = start % BLOCK_BYTES;
      const to = from + end - start;
      if (to > BLOCK_BYTES) return getAcrossBlocks(start, end);
      const found = blockAt((start - from) / BLOCK_BYTES);
      return found.toString(isAscii ? 'latin1' : 'utf8', from, to);
    },
    /** Removes the temporary file. */
    close: (): void => file?.close(),
  };
}

/** Stores positions in blocks, each in eight bytes. An array would be copied completely each time it grows. */
function createStarts(): { readonly count: number; add(start: number): void; get(index: number): number | undefined } {
  const pieces: Float64Array[] = [];
  let last = new Float64Array(0);
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(start) {
      const at = count % STARTS_IN_PIECE;
      if (at === 0) {
        last = new Float64Array(STARTS_IN_PIECE);
        pieces.push(last);
      }
      last[at] = start;
      count++;
    },
    get(index) {
      if (!(index >= 0 && index < count)) return undefined;
      return pieces[Math.floor(index / STARTS_IN_PIECE)]?.[index % STARTS_IN_PIECE];
    },
  };
}

interface BlockFile {
  write(block: Buffer): void;
  read(number: number): Buffer;
  close(): void;
}

/**
 * A temporary file of blocks. The blocks that were read last stay in memory, because cells mostly refer to texts in
 * their order.
 */
function createBlockFile(): BlockFile {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-sync-xlsx-'));
  const handle = openSync(join(folder, 'strings'), 'wx+', 0o600);
  const kept = new Map<number, Buffer>();
  return {
    write(block) {
      for (let at = 0; at < block.length; ) at += writeSync(handle, block, at);
    },
    read(number) {
      const known = kept.get(number);
      if (known !== undefined) return known;
      // The block that was kept for the longest time is dropped, and its memory is used again.
      const [oldest] = kept;
      const isFull = kept.size >= BLOCKS_KEPT && oldest !== undefined;
      if (isFull) kept.delete(oldest[0]);
      const block = isFull ? oldest[1] : Buffer.allocUnsafeSlow(BLOCK_BYTES);
      if (readSync(handle, block, 0, BLOCK_BYTES, number * BLOCK_BYTES) < BLOCK_BYTES) {
        throw new Error('the temporary file of its texts was cut off');
      }
      kept.set(number, block);
      return block;
    },
    close() {
      closeSync(handle);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
