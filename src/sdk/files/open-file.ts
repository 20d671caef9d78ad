import { createFileDecoder } from '../text-decoder.ts';
import { assertContent, type ContentKind } from './recognise.ts';
import { assertSame, type SourceFile, statOf } from './source-file.ts';
import { openStored } from './stored-file.ts';

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
