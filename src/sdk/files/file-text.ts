import { createFileDecoder } from '../text-decoder.ts';
import type { OpenFile } from './open-file.ts';
import { assertContent, type ContentKind } from './recognise.ts';

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
