import { open } from 'node:fs/promises';
import { READ_WITHOUT_WAITING } from '../../lib/files.ts';
import { createFileDecoder } from '../text-decoder.ts';
import { assertContent, type ContentKind } from './recognise.ts';
import { assertSame, assertWithin, changedFault, type SourceFile, statOf, unreadableFault } from './source-file.ts';

/** A file of a stream that a format can read. */
export interface OpenFile {
  /** The name for places and messages. */
  name: string;
  /** The stored size of the file, for the progress. */
  bytes: number;
  /** How many of these bytes were read so far. */
  position(): number;
  /**
   * The content from start to end, unpacked. Call it only once.
   *
   * @throws a `sourceFault` if the file cannot be read or unpacked, or is changed while it is read
   */
  chunks(signal: AbortSignal): AsyncIterable<Buffer>;
  /**
   * A path on this machine under which the whole content can be read in any order, for formats that need that. The path
   * is valid until the read of the file has ended. Use either the path or the chunks.
   *
   * @throws a `sourceFault` if the file cannot be read or unpacked, or has changed since it was found
   */
  localPath(signal: AbortSignal): Promise<string>;
}

/** Opens a file of this machine without unpacking it, for tests of a format. */
export function openLocalFile(found: SourceFile): OpenFile {
  const file = { ...found, bytes: found.bytes ?? 0 };
  let position = 0;
  return {
    name: file.name,
    bytes: file.bytes,
    position: () => position,
    async *chunks(signal) {
      signal.throwIfAborted();
      const stored = await openStored(file);
      try {
        for await (const chunk of stored.chunks(signal)) {
          position = stored.position();
          yield chunk;
        }
      } finally {
        await stored.close();
      }
    },
    async localPath(signal) {
      signal.throwIfAborted();
      assertSame(file, await statOf(file.path, file.label));
      return file.path;
    },
  };
}

/** A part of the text of a file. */
export interface TextPiece {
  text: string;
  /** True for the last piece, which may be empty. */
  final: boolean;
  /** The encoding with which the file is read. */
  encoding: string;
}

/**
 * Reads a file as text, piece by piece; an empty file has no piece.
 *
 * @param format the name of the format for messages, such as `CSV`
 * @param accepts a kind of content that the format can read
 * @throws a `sourceFault` when the file is of another format
 */
export async function* readFileText(
  file: OpenFile,
  {
    encoding,
    format,
    accepts,
    signal,
  }: { encoding: string; format: string; accepts?: ContentKind; signal: AbortSignal },
): AsyncGenerator<TextPiece> {
  let decoder: ReturnType<typeof createFileDecoder> | undefined;
  for await (const chunk of file.chunks(signal)) {
    if (decoder === undefined) {
      assertContent(file.name, chunk, accepts === undefined ? { format } : { format, accepts });
      decoder = createFileDecoder(encoding, chunk);
    }
    yield { text: decoder.write(chunk), final: false, encoding: decoder.encoding };
  }
  if (decoder !== undefined) yield { text: decoder.end(), final: true, encoding: decoder.encoding };
}

/**
 * The size of a chunk. Larger chunks save no measurable time, and each chunk is in memory twice, as bytes and as text.
 */
const CHUNK_BYTES = 64 * 1024;
/** How many bytes are read to recognise the kind of packing. */
const HEAD_BYTES = 4;

/** An open file of this machine, with its stored bytes. */
export interface StoredFile {
  file: SourceFile & { bytes: number };
  fd: number;
  /** The first bytes of the file. */
  head: Buffer;
  /** How many bytes `chunks` has returned so far. */
  position: () => number;
  /**
   * Its bytes in chunks of at most 64 KiB. Throws if the file is changed while it is read, because the content would be
   * a mixture of two exports. If another file is renamed over it, the open file is still read to its end.
   */
  chunks: (signal: AbortSignal) => AsyncIterable<Buffer>;
  /** @throws a `sourceFault` if the file was changed since it was found */
  assertSame(): Promise<void>;
  close(): Promise<void>;
}

/** @throws a `sourceFault` if the file cannot be read, or has changed since it was found */
export async function openStored(file: SourceFile & { bytes: number }): Promise<StoredFile> {
  const handle = await open(file.path, READ_WITHOUT_WAITING).catch((error: unknown) => {
    throw unreadableFault(file.path, file.label, error);
  });
  const assertUnchanged = async () => assertSame(file, await handle.stat({ bigint: true }));
  const read = async (length: number, position: number): Promise<Buffer> => {
    const buffer = Buffer.allocUnsafe(length);
    const { bytesRead } = await handle.read(buffer, 0, length, position).catch((error: unknown) => {
      throw unreadableFault(file.path, file.label, error);
    });
    return bytesRead === length ? buffer : buffer.subarray(0, bytesRead);
  };
  let position = 0;
  try {
    await assertWithin(file, handle);
    await assertUnchanged();
    return {
      file,
      fd: handle.fd,
      head: await read(HEAD_BYTES, 0),
      position: () => position,
      async *chunks(signal) {
        for (;;) {
          signal.throwIfAborted();
          const chunk = await read(CHUNK_BYTES, position);
          signal.throwIfAborted();
          if (chunk.length === 0) break;
          await assertUnchanged();
          position += chunk.length;
          yield chunk;
        }
        await assertUnchanged();
        if (position !== file.bytes) throw changedFault(file, `it ended after ${position} of ${file.bytes} bytes`);
      },
      assertSame: assertUnchanged,
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}
