import { open, stat } from 'node:fs/promises';
import { READ_WITHOUT_WAITING } from '../../lib/bounded-file.ts';
import { assertSame, changedFault, type SourceFile, unreadableFault } from './find-files.ts';

const CHUNK_BYTES = 256 * 1024;

/** A file of a stream, as a format reads it. */
export interface OpenFile {
  /** For places and messages. */
  name: string;
  /** Its size as it is stored, for progress. */
  bytes: number;
  /** How many of these bytes were read so far. */
  position(): number;
  /**
   * The content from start to end. It can be asked for once.
   *
   * @throws a `sourceFault` if the file cannot be read, or is changed while it is read
   */
  chunks(signal: AbortSignal): AsyncIterable<Buffer>;
  /**
   * A path on this machine under which the whole content can be read in any order, for formats that need that. It holds
   * until the read of the file has ended. Ask for either the path or the chunks.
   *
   * @throws a `sourceFault` if the file cannot be read, or is another one than the one that was found
   */
  localPath(signal: AbortSignal): Promise<string>;
}

/** Opens a file of this machine. */
export function openLocalFile(file: SourceFile): OpenFile {
  let position = 0;
  return {
    name: file.name,
    bytes: file.bytes,
    position: () => position,
    async *chunks(signal) {
      for await (const chunk of readChunks(file, signal)) {
        position += chunk.length;
        yield chunk;
      }
    },
    async localPath(signal) {
      signal.throwIfAborted();
      const stats = await stat(file.path, { bigint: true }).catch((error: unknown) => {
        throw unreadableFault(file.path, file.path, error);
      });
      assertSame(file, stats);
      return file.path;
    },
  };
}

/**
 * Reads a file in chunks of at most 256 KiB. Every chunk is from the file as it was found: a file that is written to while
 * it is read gives a mixture of two exports, from which nothing may be concluded. A file that another is renamed over is
 * read to its end all the same.
 */
async function* readChunks(file: SourceFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  signal.throwIfAborted();
  const handle = await open(file.path, READ_WITHOUT_WAITING).catch((error: unknown) => {
    throw unreadableFault(file.path, file.path, error);
  });
  try {
    assertSame(file, await handle.stat({ bigint: true }));
    let position = 0;
    for (;;) {
      const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position).catch((error: unknown) => {
        throw unreadableFault(file.path, file.path, error);
      });
      signal.throwIfAborted();
      if (bytesRead === 0) break;
      assertSame(file, await handle.stat({ bigint: true }));
      position += bytesRead;
      yield bytesRead === CHUNK_BYTES ? buffer : buffer.subarray(0, bytesRead);
      signal.throwIfAborted();
    }
    assertSame(file, await handle.stat({ bigint: true }));
    if (position !== file.bytes) throw changedFault(file, `it ended after ${position} of ${file.bytes} bytes`);
  } finally {
    await handle.close();
  }
}
