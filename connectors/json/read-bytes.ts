import { open } from 'node:fs/promises';
import {
  assertContent,
  contentFault,
  createFileDecoder,
  type FileDecoder,
  type OpenFile,
} from '../../src/sdk/index.ts';

/** A piece of a file, in UTF-8 and without the byte order mark at its beginning. */
interface BytePiece {
  bytes: Buffer;
  /** True for the last piece, which is empty. */
  final: boolean;
}

/** @throws a `sourceFault` when the file is of another format */
export async function* readBytes(name: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<BytePiece> {
  let isFirst = true;
  let decoder: FileDecoder | null = null;
  for await (const chunk of chunks) {
    if (isFirst) {
      assertJson(name, chunk);
      decoder = isWide(chunk) ? createFileDecoder('utf-16', chunk) : null;
    }
    const bytes = decoder === null ? chunk : Buffer.from(decoder.write(chunk));
    yield { bytes: isFirst ? bytes.subarray(byteOrderMarksAt(bytes, 0)) : bytes, final: false };
    isFirst = false;
  }
  yield { bytes: Buffer.from(decoder?.end() ?? ''), final: true };
}

/** True for a file that begins with a byte order mark of UTF-16. */
function isWide([first, second]: Buffer): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

/** No JSON begins with a tag, which may be any text in other formats. */
function assertJson(file: string, head: Buffer): void {
  assertContent(file, head, { format: 'JSON', accepts: 'json' });
  if (/^(?:ï»¿)?\s*</.test(head.toString('latin1', 0, 100))) throw contentFault(file, 'xml', 'JSON');
}

/** How many bytes of byte order marks are at a position. Files that were joined have marks in their middle. */
export function byteOrderMarksAt(bytes: Buffer, position: number): number {
  let at = position;
  while (bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) at += 3;
  return at - position;
}

const CHUNK_BYTES = 64 * 1024;

/** A file that is read twice. */
export interface Rereadable {
  /** Gives the content from the beginning, each time that it is called. */
  chunks(signal: AbortSignal): AsyncGenerator<Buffer>;
  /** How much of the file the last call has read, as bytes of the stored file. */
  position(): number;
}

/** Opens a file by its path, since `chunks` of an open file can be read only once. */
export async function openTwice(file: OpenFile, signal: AbortSignal): Promise<Rereadable> {
  const path = await file.localPath(signal);
  let share = 0;
  return {
    async *chunks(signal) {
      await using handle = await open(path);
      const { size } = await handle.stat();
      for (let read = 0; ; ) {
        signal.throwIfAborted();
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, read);
        if (bytesRead === 0) return;
        read += bytesRead;
        share = Math.min(1, read / size);
        yield buffer.subarray(0, bytesRead);
      }
    },
    position: () => Math.floor(share * file.bytes),
  };
}
