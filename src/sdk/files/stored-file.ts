import { open } from 'node:fs/promises';
import { READ_WITHOUT_WAITING } from '../../lib/files/bounded-file.ts';
import { assertSame, changedFault, type SourceFile, unreadableFault } from './source-file.ts';
import { assertWithin } from './within.ts';

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
