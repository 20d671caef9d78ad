import iconv from 'iconv-lite';
import { sourceFault } from '../faults.ts';

/** The declaration is searched for in this many bytes. */
export const HEAD_BYTES = 1_024;

/**
 * The encoding of an XML file. The first of these that exists decides: the byte order mark or the wide bytes of `<?`,
 * the encoding in the config, the declaration in the file. Without all of them it is UTF-8.
 *
 * @throws a `sourceFault` if the file declares an encoding that is not known
 */
export function encodingOf(head: Buffer, file: string, configured: string | undefined): string {
  const wide = wideEncodingOf(head);
  if (wide !== undefined) return wide;
  if (configured !== undefined) return configured;
  const declaration = /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(
    head.subarray(0, HEAD_BYTES).toString('latin1'),
  );
  const declared: string | undefined = declaration?.[1];
  // Some programs write "utf-16" into text that they save as UTF-8: if it were UTF-16, its `<?xml` could not be read
  // here.
  if (declared === undefined || /^(utf-?16|ucs-?2|utf-?32)/i.test(declared)) return 'utf-8';
  if (isKnown(declared)) return declared;
  throw sourceFault(`${file} declares the encoding ${declared}, which is not known.`, {
    suggestion: 'Set `encoding` to the encoding of the file, such as windows-1252.',
  });
}

function isKnown(encoding: string): boolean {
  return iconv.encodingExists(encoding);
}

/** Bytes that only UTF-16 begins with. */
function wideEncodingOf(head: Buffer): string | undefined {
  const [first, second, third, fourth] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0x3c && second === 0 && third !== 0 && fourth === 0) return 'utf-16le';
  if (first === 0 && second === 0x3c && third === 0 && fourth !== 0) return 'utf-16be';
  return undefined;
}
