import { sourceFault } from '../../src/sdk/index.ts';

export type JsonFormat = 'array' | 'ndjson';

/** How many bytes of byte order marks are at a position. Files that were joined have marks in their middle. */
export function byteOrderMarksAt(bytes: Buffer, position: number): number {
  let at = position;
  while (bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) at += 3;
  return at - position;
}

/** Removes byte order marks from the beginning of a UTF-8 file, because they are not part of the text. */
export function withoutByteOrderMark(head: Buffer, file: string): Buffer {
  const [first, second] = head;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw sourceFault(`${file} is UTF-16, but JSON is exchanged as UTF-8.`, {
      suggestion: 'Set the source system to UTF-8, or convert the file.',
    });
  }
  return head.subarray(byteOrderMarksAt(head, 0));
}

/**
 * Recognises the format of a file by its extension and its first chunk. A file that begins with an object is NDJSON
 * only if its first line is complete and a second object follows, because a single object may be a document.
 */
export function detectFormat(options: { file: string; head: Buffer; atRoot: boolean }): JsonFormat {
  if (/\.(?:ndjson|jsonl)(?:\.gz)?$/i.test(options.file)) return 'ndjson';
  if (!options.atRoot) return 'array';
  const [first = '', ...others] = options.head.toString('utf8').trimStart().split('\n');
  if (!first.startsWith('{') || !others.some((line) => line.startsWith('{'))) return 'array';
  return isComplete(first) ? 'ndjson' : 'array';
}

function isComplete(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
