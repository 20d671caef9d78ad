import iconv from 'iconv-lite';
import { z } from 'zod';

/** Turns a file's bytes into text, piece by piece. Bytes that are invalid in the encoding become U+FFFD. */
export interface FileDecoder {
  /** The encoding in use: the declared one, or the one that the byte order mark shows. */
  encoding: string;
  write: (bytes: Buffer) => string;
  /** Returns the rest of the text after the last bytes. */
  end: () => string;
}

/** An option that names a text encoding. */
export const Encoding = z
  .string()
  .min(1)
  .refine(isEncoding, {
    error: 'an encoding, such as utf-8, windows-1252, windows-1250, iso-8859-1, iso-8859-15, utf-16le or shift_jis',
  })
  .describe(
    'Text encoding, such as `utf-8`, `windows-1252`, `iso-8859-1` or `utf-16le`. The usual names of encodings work, such as `windows-1250` (Polish, Czech, Hungarian) or `cp852` (DOS). A byte order mark in the file takes precedence.',
  );

/** True for the name of an encoding that `createFileDecoder` knows. */
export function isEncoding(name: string): boolean {
  return iconv.encodingExists(name);
}

/** No text begins with these bytes by accident, so they take precedence over the config. */
const BYTE_ORDER_MARKS: [encoding: string, bytes: number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/**
 * A decoder for a file that begins with `head`. A byte order mark is not part of the text.
 *
 * @param declared an encoding for which `isEncoding` is true
 */
export function createFileDecoder(declared: string, head: Buffer): FileDecoder {
  const mark = BYTE_ORDER_MARKS.find(([, bytes]) => bytes.every((byte, index) => head[index] === byte));
  const encoding = mark === undefined || /^utf-?32/i.test(declared) ? declared : mark[0];
  if (/^utf-?8$/i.test(encoding)) return createUtf8Decoder(encoding);
  const decoder = iconv.getDecoder(encoding);
  // Half a surrogate pair is invalid in UTF-16. The decoder only replaces invalid sequences of UTF-8, so half pairs are
  // replaced here.
  const wide = /^(utf-?16|ucs-?2)/i.test(encoding);
  let isOdd = false;
  let half = '';
  return withoutMarks({
    encoding,
    write(bytes) {
      isOdd = isOdd !== (bytes.length % 2 === 1);
      if (!wide) return decoder.write(bytes);
      // A piece may end within a pair, whose other half begins the next piece.
      const text = half + decoder.write(bytes);
      half = HIGH_HALF.exec(text)?.[0] ?? '';
      return text.slice(0, text.length - half.length).toWellFormed();
    },
    // A file that was cut off may end with half a character. The decoder drops it, so U+FFFD is added here.
    end: () =>
      wide ? (half + (decoder.end() ?? '')).toWellFormed() + (isOdd ? '\u{fffd}' : '') : (decoder.end() ?? ''),
  });
}

/** The first half of a surrogate pair at the end of a text. */
const HIGH_HALF = /[\ud800-\udbff]$/;

/** Most files are UTF-8, which Node decodes in half the time. */
function createUtf8Decoder(encoding: string): FileDecoder {
  const decoder = new TextDecoder('utf-8');
  return withoutMarks({
    encoding,
    write: (bytes) => decoder.decode(bytes, { stream: true }),
    end: () => decoder.decode(),
  });
}

/** Ctrl-Z. Programs for DOS end a text with it, and some ERP systems still write it. */
const END_MARK = 0x1a;
/** A longer sequence of marks and white space is not the end of a file. */
const END_CHARACTERS_MAX = 1_000;

const BYTE_ORDER_MARK = 0xfeff;

/**
 * Removes the marks at the ends of a file: further byte order marks at its beginning, and the end mark with the white space
 * after it. Within the text these characters are kept.
 */
function withoutMarks({ encoding, write, end }: FileDecoder): FileDecoder {
  /** Marks and white space that may be the end of the file. */
  let held = '';
  let isStart = true;
  const without = (given: string): string => {
    const added = isStart ? given.slice(byteOrderMarksAt(given, 0)) : given;
    isStart &&= added === '';
    const text = held === '' ? added : held + added;
    const at = endMarkIn(text);
    held = text.slice(at);
    return at === text.length ? text : text.slice(0, at);
  };
  return {
    encoding,
    write: (bytes) => without(write(bytes)),
    end: () => without(end()),
  };
}

/** How many byte order marks are at a position of a text. Files that were joined have marks in their middle. */
export function byteOrderMarksAt(text: string, position: number): number {
  let at = position;
  while (text.charCodeAt(at) === BYTE_ORDER_MARK) at++;
  return at - position;
}

/** The position at which the marks at the end of a text begin; the length of the text if there are none. */
function endMarkIn(text: string): number {
  let first = text.length;
  for (let at = text.length - 1; at >= 0 && text.length - at <= END_CHARACTERS_MAX; at--) {
    const code = text.charCodeAt(at);
    if (code === END_MARK) first = at;
    else if (code !== 0x0a && code !== 0x0d && code !== 0x20 && code !== 0x09) return first;
  }
  return text.length <= END_CHARACTERS_MAX ? first : text.length;
}
