const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LINE_FEED = 0x0a;
const SPACE = 0x20;

/**
 * Finds where a JSON value ends, over any number of chunks, without building it. It only follows strings and brackets;
 * `JSON.parse` then finds out whether the value is valid JSON.
 */
export class ValueScanner {
  /** How many line feeds were read. */
  lines = 0;
  /** How many members all objects in the value have, including repeated names. */
  members = 0;
  /** How deeply the value is nested; 0 for a number or a string. */
  deepest = 0;

  private depth = 0;
  private inString = false;
  private escaped = false;
  private kind: 'none' | 'string' | 'composite' | 'literal' = 'none';

  /** Makes the scanner ready for the next value. */
  reset(): void {
    this.lines = 0;
    this.members = 0;
    this.deepest = 0;
    this.depth = 0;
    this.inString = false;
    this.escaped = false;
    this.kind = 'none';
  }

  /**
   * Continues with the value at `from`, which is its first byte or the position at which the last call stopped.
   *
   * @returns the position after the value, or -1 if the value continues after these bytes. A number or word ends only
   *   if something follows it, so at the end of the input the caller has to decide that the value is complete.
   */
  scan(bytes: Uint8Array, from: number): number {
    const end = bytes.length;
    let at = from;
    if (this.kind === 'none') {
      if (at >= end) return -1;
      const first = bytes[at];
      this.kind = first === QUOTE ? 'string' : first === OPEN_LIST || first === OPEN_OBJECT ? 'composite' : 'literal';
      if (first === QUOTE) {
        this.inString = true;
        at++;
      }
    }
    if (this.kind === 'literal') {
      while (at < end && !endsLiteral(bytes[at])) at++;
      return at < end ? at : -1;
    }
    const composite = this.kind === 'composite';
    let { depth, inString, escaped, lines, members, deepest } = this;
    let result = -1;
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte === LINE_FEED) lines++;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) {
          inString = false;
          if (!composite) {
            result = at + 1;
            break;
          }
        }
      } else if (byte === QUOTE) inString = true;
      else if (byte === COLON) members++;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (++depth > deepest) deepest = depth;
      } else if ((byte === CLOSE_OBJECT || byte === CLOSE_LIST) && --depth === 0) {
        result = at + 1;
        break;
      }
    }
    this.depth = depth;
    this.inString = inString;
    this.escaped = escaped;
    this.lines = lines;
    this.members = members;
    this.deepest = deepest;
    return result;
  }
}

/** Counts like `ValueScanner`, for a value that is completely in memory. */
export function measureValue(bytes: Uint8Array): { members: number; deepest: number } {
  const scanner = new ValueScanner();
  let from = 0;
  while (from < bytes.length && (bytes[from] ?? 0) <= SPACE) from++;
  scanner.scan(bytes, from);
  return { members: scanner.members, deepest: scanner.deepest };
}

function endsLiteral(byte: number | undefined): boolean {
  return (
    byte === undefined ||
    byte <= SPACE ||
    byte === COMMA ||
    byte === COLON ||
    byte === QUOTE ||
    byte === OPEN_LIST ||
    byte === CLOSE_LIST ||
    byte === OPEN_OBJECT ||
    byte === CLOSE_OBJECT
  );
}
