// Secrets in texts of a server, which may repeat them in other forms: in another case, with the escapes of JSON or of an address, and with
// escapes of such escapes, as in a JSON text within another one.

/** A text in its plain form, and where each of its characters begins and ends in the text. */
interface PlainText {
  plain: string;
  starts: number[];
  ends: number[];
}

/** An escape of a character by its number, the bytes of an address, or one character. */
const PIECE = /\\u([\da-f]{4})|(?:%(?:25)*[\da-f]{2})+|[^]/gi;
const BYTE = /%(?:25)*([\da-f]{2})/gi;
/** The short escapes of JSON (RFC 8259, section 7). */
const SHORT: Readonly<Record<string, string>> = { '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't' };

/** The text with `…` in place of each secret. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const found = placesOf(text, secrets).sort((a, b) => a.start - b.start);
  let clean = '';
  let end = 0;
  for (const place of found) {
    if (place.start >= end) clean += `${text.slice(end, place.start)}…`;
    end = Math.max(end, place.end);
  }
  return clean + text.slice(end);
}

/** True if a text has one of these secrets. */
export function isSecretIn(text: string, secrets: readonly string[]): boolean {
  return placesOf(text, secrets).length > 0;
}

interface Place {
  start: number;
  end: number;
}

function placesOf(text: string, secrets: readonly string[]): Place[] {
  if (secrets.length === 0) return [];
  const { plain, starts, ends } = plainText(text);
  return secrets.flatMap((secret) => {
    // In a text without escapes a secret may follow a character with which an escape would begin.
    const written = indexesOf(secret, text).map((at) => ({ start: at, end: at + secret.length }));
    // A secret may have characters that look like an escape.
    const forms = new Set([plainText(secret).plain, plainForm(secret)]);
    const others = [...forms].flatMap((form) =>
      indexesOf(form, plain).map((at) => ({ start: starts[at] ?? 0, end: ends[at + form.length - 1] ?? 0 })),
    );
    return [...written, ...others];
  });
}

function indexesOf(searched: string, text: string): number[] {
  const indexes: number[] = [];
  if (searched === '') return indexes;
  for (let at = text.indexOf(searched); at >= 0; at = text.indexOf(searched, at + searched.length)) indexes.push(at);
  return indexes;
}

/** Without backslashes and with the letters of short escapes, text with escapes of JSON and text without them are the same. */
function plainForm(characters: string): string {
  return characters
    .toLowerCase()
    .replaceAll('+', ' ')
    .replaceAll('\\', '')
    .replaceAll(/[\b\f\n\r\t]/g, (control) => SHORT[control] ?? '');
}

function plainText(text: string): PlainText {
  const read = { starts: [] as number[], ends: [] as number[] };
  const units: string[] = [];
  const add = (characters: string, start: number, end: number): void => {
    for (const unit of plainForm(characters).split('')) {
      units.push(unit);
      read.starts.push(start);
      read.ends.push(end);
    }
  };
  for (const { 0: piece, 1: code, index } of text.matchAll(PIECE)) {
    if (code !== undefined) add(String.fromCharCode(Number.parseInt(code, 16)), index, index + piece.length);
    else if (piece.startsWith('%') && piece.length > 1) addBytes(piece, index, add);
    else add(piece, index, index + piece.length);
  }
  return { plain: units.join(''), ...read };
}

/** Adds the characters of encoded bytes. Bytes that are no UTF-8 are characters of Latin-1. */
function addBytes(piece: string, index: number, add: (characters: string, start: number, end: number) => void): void {
  const bytes = [...piece.matchAll(BYTE)];
  const buffer = Buffer.from(bytes.map(([, byte = '']) => byte).join(''), 'hex');
  const decoded = String(buffer);
  const isUtf8 = !decoded.includes('\uFFFD');
  let at = 0;
  for (const character of isUtf8 ? decoded : buffer.toString('latin1')) {
    const first = bytes[at];
    at += isUtf8 ? Buffer.byteLength(character) : 1;
    const last = bytes[at - 1];
    add(character, index + (first?.index ?? 0), index + (last?.index ?? 0) + (last?.[0].length ?? 0));
  }
}
