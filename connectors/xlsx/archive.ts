import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { contentFault, recogniseContent, sourceFault } from '../../src/sdk/index.ts';

const CHUNK_BYTES = 128 * 1024;
const PARTS_MAX = 10_000;
/**
 * The greatest ratio of unpacked to packed size. Real sheets have a smaller one, except small sheets with many equal
 * rows.
 */
const RATIO_MAX = 250;
const RATIO_FROM_BYTES = 64 * 1024 * 1024;

/** A workbook as a ZIP archive. */
export interface Archive {
  file: string;
  has(part: string): boolean;
  /** The original names of the parts, for messages. */
  names: readonly string[];
  /**
   * The text of a part.
   *
   * @throws a `sourceFault` if there is no such part, it is damaged, or it unpacks to more than the limit
   */
  read(part: string, request: { bytesMax: number; signal: AbortSignal }): AsyncGenerator<PartText>;
  close(): void;
}

interface PartText {
  text: string;
  /** How much of the part was read, from 0 to 1. */
  share: number;
}

/** @param file the name of the file in messages */
export async function openArchive(path: string, file: string): Promise<Archive> {
  const zip = await openPromise(path, { autoClose: false }).catch((error: unknown) => {
    throw damaged(file, error);
  });
  try {
    return archiveOf(zip, file, await entriesOf(zip, file));
  } catch (error) {
    zip.close();
    throw error;
  }
}

/** The parts by their names in lower case: programs write different cases, and Office accepts all of them. */
async function entriesOf(zip: ZipFile, file: string): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of zip.eachEntry()) {
      entries.set(entry.fileName.toLowerCase(), entry);
      if (entries.size > PARTS_MAX) throw new Error(`it has more than ${PARTS_MAX} parts`);
    }
  } catch (error) {
    throw damaged(file, error);
  }
  return entries;
}

function archiveOf(zip: ZipFile, file: string, entries: Map<string, Entry>): Archive {
  return {
    file,
    has: (part) => entries.has(part.toLowerCase()),
    names: [...entries.values()].map(({ fileName }) => fileName),
    async *read(part, { bytesMax, signal }) {
      const entry = entries.get(part.toLowerCase());
      if (entry === undefined) throw damaged(file, new Error(`its part ${part} is missing`));
      assertSize(entry, file, bytesMax);
      let decoder: InstanceType<typeof TextDecoder> | undefined;
      let read = 0;
      let sum = 0;
      for await (const chunk of chunksOf(zip, entry, file)) {
        signal.throwIfAborted();
        decoder ??= new TextDecoder(encodingOf(chunk));
        read += chunk.length;
        sum = crc32(chunk, sum);
        yield { text: decoder.decode(chunk, { stream: true }), share: read / Math.max(1, entry.uncompressedSize) };
        signal.throwIfAborted();
      }
      if (sum !== entry.crc32) throw damaged(file, new Error(`the checksum of ${part} is wrong`));
      yield { text: decoder?.decode() ?? '', share: 1 };
    },
    close: () => zip.close(),
  };
}

/** The unpacked bytes of a part, at most as many as the directory states. */
async function* chunksOf(zip: ZipFile, entry: Entry, file: string): AsyncGenerator<Buffer> {
  const unreadable = (error: unknown): never => {
    throw damaged(file, error);
  };
  const stored = await zip.openReadStreamPromise(entry, { decodeFileData: false }).catch(unreadable);
  const stream = unpacked(stored, entry);
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let read = 0;
  try {
    for (;;) {
      const next = await chunks.next().catch(unreadable);
      if (next.done === true) break;
      read += next.value.length;
      if (read > entry.uncompressedSize)
        unreadable(new Error(`${entry.fileName} is larger than the directory of the archive says`));
      yield next.value;
    }
    if (read < entry.uncompressedSize)
      unreadable(new Error(`${entry.fileName} is smaller than the directory of the archive says`));
  } finally {
    stream.destroy();
    stored.destroy();
  }
}

/** yauzl would unpack in small chunks, each of which waits for another thread. */
function unpacked(stored: Readable, entry: Entry): Readable {
  if (entry.isEncrypted()) return Readable.from([]).destroy(new Error(`${entry.fileName} is encrypted`));
  if (entry.compressionMethod === 0) return stored;
  if (entry.compressionMethod !== 8) {
    return Readable.from([]).destroy(
      new Error(`${entry.fileName} is compressed by the method ${entry.compressionMethod}`),
    );
  }
  const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES });
  stored.on('error', (error) => inflate.destroy(error));
  return stored.pipe(inflate);
}

/** Refuses a part whose entry in the directory is not allowed. Its unpacked size is compared with the directory while it is read. */
function assertSize({ fileName, compressedSize, uncompressedSize }: Entry, file: string, bytesMax: number): void {
  if (uncompressedSize > bytesMax) {
    throw sourceFault(`${file}: ${fileName} unpacks to ${uncompressedSize} bytes; at most ${bytesMax} are accepted.`, {
      suggestion: 'If the file is right, raise `maxUnpackedBytes`.',
    });
  }
  if (uncompressedSize > RATIO_FROM_BYTES && uncompressedSize > RATIO_MAX * compressedSize) {
    throw sourceFault(
      `${file}: ${fileName} unpacks to ${uncompressedSize} bytes from ${compressedSize}, which no normal export does, so dpp-sync treats the file as a zip bomb.`,
      { suggestion: 'Check where the file comes from, and export it again.' },
    );
  }
}

function encodingOf(head: Buffer): string {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

/** The fault of a workbook that cannot be read to its end. */
export function damaged(file: string, error: unknown): Error {
  const why = (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');
  return sourceFault(`${file} cannot be read as an XLSX workbook: ${why}.`, {
    suggestion: 'The file is damaged or was cut off. Export it again.',
    cause: error,
  });
}

const HEAD_BYTES = 4_096;
/** An encrypted workbook is an OLE file with this entry, whose name is written in UTF-16. */
const ENCRYPTED_ENTRY = 'EncryptedPackage';
const SEARCHED_BYTES = 1024 * 1024;

/** @throws a `sourceFault` if the file is not a workbook; it names the real format */
export async function assertWorkbook(path: string, name: string): Promise<void> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const head = Buffer.alloc(Math.min(size, HEAD_BYTES));
    await handle.read(head, 0, head.length, 0);
    const kind = recogniseContent(head);
    if (kind === 'spreadsheet' || kind === 'zip') return;
    if (size === 0) throw sourceFault(`${name} is empty.`, { suggestion: 'Check the export.' });
    if (kind === 'compound') throw compoundFault(name, await readEnds(handle, size));
    if (kind !== null) throw contentFault(name, kind, 'an XLSX workbook', head);
    throw sourceFault(`${name} is not an XLSX workbook.`, {
      suggestion: 'If the file is text, use `connector: csv`, whatever the extension of the file is.',
    });
  } finally {
    await handle.close();
  }
}

/** The directory of an OLE file may be anywhere, but programs write it at the beginning or the end. */
async function readEnds(handle: Awaited<ReturnType<typeof open>>, size: number): Promise<Buffer> {
  const length = Math.min(size, SEARCHED_BYTES);
  const ends = Buffer.alloc(2 * length);
  await handle.read(ends, 0, length, 0);
  await handle.read(ends, length, length, size - length);
  return ends;
}

function compoundFault(name: string, ends: Buffer): Error {
  return ends.includes(ENCRYPTED_ENTRY, 0, 'utf16le')
    ? sourceFault(`${name} is an encrypted workbook: it needs a password.`, {
        suggestion: 'Save the workbook without a password. Protect the folder of the file instead.',
      })
    : sourceFault(`${name} is a workbook of Excel 97 to 2003 (.xls), not an XLSX workbook.`, {
        suggestion: 'Save it as .xlsx.',
      });
}
