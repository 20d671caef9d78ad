import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { sourceFault } from '../connector.ts';
import type { Unpacking } from './file-options.ts';
import { type OpenFile, openStored, type StoredFile } from './open-file.ts';
import { pathOfOpen, type SourceFile } from './source-file.ts';
import type { TemporaryFile, TemporaryFiles } from './temporary-files.ts';
import { gunzipped, openZip, unzipped } from './unpack.ts';

interface UnpackOptions {
  /** The pattern for the entries of an archive that are read. */
  entry: string;
  limits: Unpacking;
  temporary: TemporaryFiles;
  /** The entry by which a ZIP file is recognised as a file of the format. */
  document: string | undefined;
}

/** One file that a format reads: a file that was found, or an entry of an archive. */
interface FilePart {
  file: OpenFile;
  /** Converts the progress of a page into bytes of the file that was found. */
  storedDone: (progress: { done: number; total: number } | undefined) => number;
  /** How many unpacked bytes were read so far; null if that is not known. */
  unpacked(): number | null;
}

/**
 * Opens a file of this machine, and unpacks it if its first bytes show that it is packed, whatever its name is. Each part is read
 * before the next one is opened. An archive within an archive is not unpacked.
 */
export async function* openParts(
  found: SourceFile & { bytes: number },
  options: UnpackOptions,
): AsyncGenerator<FilePart> {
  const stored = await openStored(found);
  try {
    if (isGzip(stored.head)) yield* gzipPart(stored, options);
    else if (isZip(stored.head)) yield* zipParts(stored, options);
    else yield* plainPart(stored);
  } finally {
    await stored.close();
  }
}

async function* plainPart(stored: StoredFile): AsyncGenerator<FilePart> {
  const { file } = stored;
  let isPath = false;
  const open: OpenFile = {
    name: file.name,
    bytes: file.bytes,
    position: stored.position,
    chunks: stored.chunks,
    async localPath(signal) {
      signal.throwIfAborted();
      isPath = true;
      await stored.assertSame();
      return pathOfOpen(file, stored.fd);
    },
  };
  yield {
    file: open,
    storedDone: (progress) => portion(progress, file.bytes),
    unpacked: () => (isPath ? null : stored.position()),
  };
  // A format that reads the file by its path does not check it with every chunk, so the file is checked here.
  if (isPath) await stored.assertSame();
}

async function* gzipPart(stored: StoredFile, options: UnpackOptions): AsyncGenerator<FilePart> {
  const { file } = stored;
  const content = (signal: AbortSignal) =>
    gunzipped({
      label: file.label,
      packed: stored.chunks(signal),
      position: stored.position,
      limits: options.limits,
    });
  yield* packedPart(
    { name: file.name, label: file.label, bytes: file.bytes, position: stored.position, content },
    { ...options, storedDone: (progress) => portion(progress, file.bytes) },
  );
}

async function* zipParts(stored: StoredFile, options: UnpackOptions): AsyncGenerator<FilePart> {
  const { file } = stored;
  const { limits } = options;
  const archive = await openZip(stored, { ...options, pattern: options.entry });
  if (archive === null) {
    yield* plainPart(stored);
    return;
  }
  const { zip, entries } = archive;
  const total = entries.reduce((sum, { compressedSize }) => sum + compressedSize, 0);
  let before = 0;
  let left = limits.maxBytes;
  for (const entry of entries) {
    const { fileName, compressedSize, uncompressedSize } = entry;
    let position = 0;
    const packed = async function* (): AsyncGenerator<Buffer> {
      const raw: Readable = await zip.openReadStreamPromise(entry, { decodeFileData: false });
      for await (const chunk of raw) {
        position += (chunk as Buffer).length;
        yield chunk as Buffer;
      }
    };
    const label = `${file.label}/${fileName}`;
    const content = (signal: AbortSignal) =>
      unzipped(
        { label, packed: aborting(packed(), signal), position: () => position, limits: { ...limits, maxBytes: left } },
        { isCompressed: entry.isCompressed(), bytes: uncompressedSize, crc32: entry.crc32 },
      );
    const start = before;
    const storedDone: FilePart['storedDone'] = (progress) =>
      total === 0 ? file.bytes : Math.round(((start + portion(progress, compressedSize)) / total) * file.bytes);
    yield* packedPart(
      { name: `${file.name}/${fileName}`, label, bytes: compressedSize, position: () => position, content },
      { ...options, storedDone },
    );
    before += compressedSize;
    left -= uncompressedSize;
  }
  await stored.assertSame();
}

interface PackedContent {
  name: string;
  label: string;
  bytes: number;
  position: () => number;
  content: (signal: AbortSignal) => AsyncIterable<Buffer>;
}

async function* packedPart(
  { name, label, bytes, position, content }: PackedContent,
  { temporary, document, storedDone }: UnpackOptions & Pick<FilePart, 'storedDone'>,
): AsyncGenerator<FilePart> {
  let unpacked: TemporaryFile | undefined;
  let count: number | null = 0;
  const file: OpenFile = {
    name,
    bytes,
    position,
    async *chunks(signal) {
      for await (const chunk of content(signal)) {
        if (count === 0) assertNotPacked(label, chunk, document);
        count = (count ?? 0) + chunk.length;
        yield chunk;
      }
    },
    async localPath(signal) {
      unpacked = await temporary.create();
      count = null;
      await pipeline(content(signal), createWriteStream(unpacked.path), { signal });
      return unpacked.path;
    },
  };
  try {
    yield { file, storedDone, unpacked: () => count };
  } finally {
    await unpacked?.remove();
  }
}

function assertNotPacked(label: string, chunk: Buffer, document: string | undefined): void {
  if (!isGzip(chunk) && (!isZip(chunk) || document !== undefined)) return;
  throw sourceFault(
    `${label} is packed twice: the archive has another archive in it, which dpp-sync does not unpack.`,
    {
      suggestion: 'Pack the file only once.',
    },
  );
}

async function* aborting(chunks: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    yield chunk;
  }
}

function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** True if the file begins with a file header, or with the end record of an empty archive. */
function isZip(bytes: Buffer): boolean {
  const signature = bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
  return signature === 0x04034b50 || signature === 0x06054b50;
}

function portion(progress: { done: number; total: number } | undefined, bytes: number): number {
  if (progress === undefined || progress.total === 0) return progress === undefined ? 0 : bytes;
  return Math.round((Math.min(progress.done, progress.total) / progress.total) * bytes);
}
