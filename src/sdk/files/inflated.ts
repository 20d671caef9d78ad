import { pipeline, Readable } from 'node:stream';
import { crc32, createGunzip, createInflateRaw } from 'node:zlib';
import { systemCodeOf } from '../../lib/errors.ts';
import { sourceFault } from '../faults.ts';
import type { Unpacking } from './file-options.ts';

const CHUNK_BYTES = 64 * 1024;
/** Up to this size the ratio is not limited, because a small file may consist mostly of repetitions. */
const UNLIMITED_RATIO_BYTES = 10_000_000;

interface Packed {
  /** The name of the file in messages: `in/x.csv.gz`. */
  label: string;
  packed: AsyncIterable<Buffer>;
  /** How many packed bytes were read so far. */
  position: () => number;
  /** The limits for the unpacked bytes. */
  limits: Unpacking;
}

/**
 * Unpacks a gzip file.
 *
 * @throws a `sourceFault` for one that is cut off, broken or grows beyond the limits
 */
export function gunzipped(file: Packed): AsyncGenerator<Buffer> {
  return bounded(inflate(file, createGunzip({ chunkSize: CHUNK_BYTES })), file);
}

/** Unpacks an entry of an archive, and compares the result with the size and the checksum that the archive states. */
export async function* unzipped(
  file: Packed,
  entry: { isCompressed: boolean; bytes: number; crc32: number },
): AsyncGenerator<Buffer> {
  let bytes = 0;
  let checksum = 0;
  const content = entry.isCompressed ? inflate(file, createInflateRaw({ chunkSize: CHUNK_BYTES })) : file.packed;
  for await (const chunk of bounded(content, file)) {
    bytes += chunk.length;
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (bytes !== entry.bytes || checksum !== entry.crc32)
    throw brokenFault(file.label, 'its checksum is not the stated one');
}

async function* inflate(
  { label, packed }: Packed,
  inflater: NodeJS.ReadWriteStream & Readable,
): AsyncGenerator<Buffer> {
  let sourceError: unknown;
  const source = Readable.from(
    noting(packed, (error) => (sourceError = error)),
    { highWaterMark: 1 },
  );
  // An error of either stream ends the other one, and is thrown by the loop.
  pipeline(source, inflater, () => undefined);
  try {
    for await (const chunk of inflater) yield chunk as Buffer;
  } catch (error) {
    if (sourceError instanceof Error) throw sourceError;
    const code = systemCodeOf(error);
    if (code === undefined || !code.startsWith('Z_')) throw error;
    throw code === 'Z_BUF_ERROR'
      ? brokenFault(label, 'it is cut off')
      : brokenFault(label, 'its packed data are damaged');
  }
}

async function* noting<T>(source: AsyncIterable<T>, note: (error: unknown) => void): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    note(error);
    throw error;
  }
}

/** A few bytes can be unpacked to terabytes, so the result is counted. */
async function* bounded(chunks: AsyncIterable<Buffer>, { label, position, limits }: Packed): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) throw tooLargeFault(label, limits);
    if (bytes > UNLIMITED_RATIO_BYTES && bytes > position() * limits.maxRatio) {
      throw sourceFault(
        `${label} grows to more than ${limits.maxRatio} times its size when it is unpacked. Files that are made to fill a disk do that.`,
        { suggestion: 'If the file is right, raise `unpacking.maxRatio` in the options of the source.' },
      );
    }
    yield chunk;
  }
}

export function tooLargeFault(label: string, { maxBytes }: Unpacking): Error {
  return sourceFault(`${label} is unpacked to more than ${maxBytes} bytes.`, {
    suggestion: 'If the file is right, raise `unpacking.maxBytes` in the options of the source.',
  });
}

export function brokenFault(label: string, why: string): Error {
  return sourceFault(`${label} cannot be unpacked: ${why}.`, {
    suggestion: 'Export or transfer the file again.',
  });
}
