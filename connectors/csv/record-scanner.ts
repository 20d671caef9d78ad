import { byteOrderMarksAt, withoutTextFormula } from '../../src/sdk/index.ts';
import { type Dialect, SEPARATOR_LINE_MAX, separatorLineOf } from './schema.ts';

/** Why a row could not be split into values. */
export type Defect =
  /** There is a quote inside a value that is not quoted. */
  | 'stray-quote'
  /** Something other than a delimiter follows a closing quote. */
  | 'text-after-quote'
  /** A quoted value has no closing quote before the next quoted value, the end of the file, or the limit of the row. */
  | 'unclosed-quote'
  /** The row is longer than `maxRecordBytes`. */
  | 'too-long';

const RAW_CHARACTERS_MAX = 1_000;
const BLANKS = ' \t';

/**
 * Splits text into rows and rows into values.
 *
 * csv-parse is not used for three reasons. Its line numbers are wrong: it counts CRLF in quoted values twice, and does not
 * count `&|\n` terminators. With csv-parse, a broken quote spoils everything up to the next quote, and here only its own
 * line. And csv-parse is slower: here most rows have no quotes and are split with `indexOf` alone.
 *
 * The text comes in pieces; `next` is called until it returns false, then the next piece is fed. At most
 * `maxRecordBytes` characters and one piece are in memory. After `next` has returned true, the fields below describe
 * one row until the next call.
 */
export class RecordScanner {
  /** The values of the row, or the values before its defect. The array is reused. */
  readonly values: string[] = [];
  /** Line of the file on which the row begins, from 1. */
  recordLine = 1;
  /** The number of characters from the beginning of the row to the beginning of the next row. */
  length = 0;
  defect: Defect | undefined;
  /** True if the row contains U+FFFD, by which the decoder replaces invalid bytes. */
  damaged = false;

  /** The configured delimiter, or the one that the first line of the file names. */
  private delimiter: string;
  private readonly quote: string | null;
  private readonly escape: string | null;
  private readonly comment: string | undefined;
  private readonly trim: boolean;
  private readonly max: number;
  /** The end of a row: the configured text, or the first line end of the file. LF also means CRLF. */
  private terminator: string | undefined;
  private readonly lineEnds: boolean;
  private linesToSkip: number;

  private text = '';
  private final = false;
  private position = 0;
  private line = 1;
  private start = 0;
  private end = 0;
  private discarding = false;
  private isAtStart = true;
  /**
   * The next position of each character, searched from an earlier position: the length of the text if there is none, -1
   * if it was not searched yet. The stored positions keep the work linear when a character is rare.
   */
  private nextTerminator = -1;
  private nextDelimiter = -1;
  private nextQuote = -1;
  private nextEscape = -1;
  private nextLineEnd = -1;
  private nextDamage = -1;

  constructor(dialect: Dialect) {
    this.delimiter = dialect.delimiter;
    this.quote = dialect.quote;
    this.escape = dialect.escape ?? dialect.quote;
    this.comment = dialect.comment;
    this.trim = dialect.trim;
    this.max = dialect.maxRecordBytes;
    this.terminator = dialect.recordDelimiter;
    this.lineEnds = dialect.recordDelimiter === undefined;
    this.linesToSkip = dialect.skipLines;
  }

  /** Gives more text. `final` is true for the last piece. */
  feed(text: string, final: boolean): void {
    this.text = this.position < this.text.length ? this.text.slice(this.position) + text : text;
    this.position = 0;
    this.final = final;
    this.nextTerminator = -1;
    this.nextDelimiter = -1;
    this.nextQuote = -1;
    this.nextEscape = -1;
    this.nextLineEnd = -1;
    this.nextDamage = -1;
  }

  /** The text of the row in the file. If the row is too long, its text is cut to a readable length. */
  raw(): string {
    return this.text.slice(this.start, this.defect === 'too-long' ? this.start + RAW_CHARACTERS_MAX : this.end);
  }

  /**
   * Moves to the next row. Returns false if more text is needed or, after the final piece, if there are no more rows.
   */
  next(): boolean {
    for (;;) {
      if (this.position >= this.text.length) return false;
      if (this.isAtStart && !this.begins()) return false;
      const terminator = this.terminator ?? this.detectTerminator();
      if (terminator === undefined) return false;
      if (this.discarding || this.linesToSkip > 0) {
        if (!this.passOver(terminator)) return false;
        continue;
      }
      this.begin();
      const boundary = this.terminatorFrom(this.position, terminator);
      if (boundary - this.start > this.max) return this.cutOff(boundary, terminator);
      if (boundary === this.text.length && !this.final) return false;
      const end = this.withoutCarriageReturn(boundary);
      const isComment = this.comment !== undefined && this.text.startsWith(this.comment, this.position);
      if (end === this.position || isComment) {
        this.advance(boundary + terminator.length);
        continue;
      }
      if (this.quoteBefore(end)) {
        if (!this.splitQuoted(terminator)) return false;
      } else {
        this.splitPlain(end);
        this.finish(end, boundary + terminator.length);
      }
      if (this.trim && this.defect === undefined && this.values.length === 1 && this.values[0] === '') continue;
      return true;
    }
  }

  /** Passes over the line that names the delimiter. Returns false if more text is needed. */
  private begins(): boolean {
    if (this.text.length < SEPARATOR_LINE_MAX && !this.final) return false;
    this.isAtStart = false;
    const found = separatorLineOf(this.text);
    if (found === null || found.delimiter === this.quote) return true;
    this.delimiter = found.delimiter;
    this.position = found.line.length;
    this.line++;
    if (this.linesToSkip > 0) this.linesToSkip--;
    return this.position < this.text.length;
  }

  private begin(): void {
    this.values.length = 0;
    this.defect = undefined;
    // Files that were joined have byte order marks before rows. Before a quote such a mark would break the row.
    const marks = byteOrderMarksAt(this.text, this.position);
    if (marks > 0 && this.text[this.position + marks] === this.quote) this.position += marks;
    this.start = this.position;
    this.recordLine = this.line;
  }

  private finish(end: number, next: number): void {
    this.end = end;
    this.length = next - this.start;
    if (this.nextDamage < this.start) this.nextDamage = this.indexOrEnd('\uFFFD', this.start);
    this.damaged = this.nextDamage < end;
    this.advance(next);
  }

  private advance(to: number): void {
    const next = Math.min(to, this.text.length);
    const lineEnd = this.terminator === '\r' ? '\r' : '\n';
    if (this.nextLineEnd === -1) this.nextLineEnd = this.indexOrEnd(lineEnd, this.position);
    while (this.nextLineEnd < next) {
      this.line++;
      this.nextLineEnd = this.indexOrEnd(lineEnd, this.nextLineEnd + 1);
    }
    this.position = next;
  }

  private splitPlain(end: number): void {
    const { text, delimiter, values } = this;
    let from = this.position;
    for (let at = this.delimiterFrom(from); at + delimiter.length <= end; at = this.delimiterFrom(from)) {
      values.push(text.slice(from, at));
      from = at + delimiter.length;
    }
    values.push(text.slice(from, end));
    if (this.trim) for (let index = 0; index < values.length; index++) values[index] = values[index]?.trim() ?? '';
    // A row without the character of quotes can have a formula only if this character is another one.
    if (this.quote === '"') return;
    for (let index = 0; index < values.length; index++) values[index] = withoutTextFormula(values[index] ?? '');
  }

  /** Splits a row with quotes. Returns false if more text is needed; then nothing is consumed. */
  private splitQuoted(terminator: string): boolean {
    const { text, delimiter, values } = this;
    let from = this.position;
    for (;;) {
      const opening = this.trim ? this.skipBlanks(from) : from;
      const quoted = text[opening] === this.quote;
      const after = quoted ? this.takeQuoted(opening) : this.takePlain(from, terminator);
      if (after === 'more') return false;
      if (typeof after === 'string') return this.fail(after, from, terminator);
      const unread = text.length - (quoted ? this.afterCarriageReturns(after) : after);
      if (quoted && !this.final && unread <= Math.max(delimiter.length, terminator.length)) return false;
      const next = this.afterTerminator(after, terminator);
      if (next !== undefined) {
        this.finish(after, next);
        return true;
      }
      if (!text.startsWith(delimiter, after)) {
        values.pop();
        const isUnclosed = this.isUnclosed(opening, after, terminator);
        return this.fail(isUnclosed ? 'unclosed-quote' : 'text-after-quote', from, terminator);
      }
      from = after + delimiter.length;
    }
  }

  /**
   * True if the quote at which a value ends most likely opens another value: it is on a later line, and stands where a
   * value begins.
   */
  private isUnclosed(opening: number, after: number, terminator: string): boolean {
    const { text, quote, delimiter } = this;
    const closing = text.lastIndexOf(quote ?? '', after - 1);
    if (closing <= this.terminatorFrom(opening, terminator)) return false;
    let before = closing;
    if (this.trim) while (BLANKS.includes(text[before - 1] ?? 'x') && !text.endsWith(delimiter, before)) before--;
    return text.endsWith(delimiter, before) || text.endsWith(terminator, before);
  }

  /** Reads a quoted value and returns the position after it. */
  private takeQuoted(opening: number): number | 'more' | 'unclosed-quote' {
    const closing = this.closingQuote(opening + 1);
    if (typeof closing === 'string') return closing;
    this.values.push(withoutTextFormula(this.unescape(this.text.slice(opening + 1, closing))));
    return this.trim ? this.skipBlanks(closing + 1) : closing + 1;
  }

  /** Reads a value without quotes and returns the position after it. */
  private takePlain(from: number, terminator: string): number | 'more' | 'stray-quote' | 'too-long' {
    const boundary = this.terminatorFrom(from, terminator);
    if (boundary - this.start > this.max) return 'too-long';
    if (boundary === this.text.length && !this.final) return 'more';
    const delimited = this.delimiterFrom(from);
    const after = delimited < boundary ? delimited : this.withoutCarriageReturn(boundary);
    const written = this.text.slice(from, after);
    const trimmed = this.trim ? written.trim() : written;
    const value = withoutTextFormula(trimmed);
    if (value === trimmed && this.quote !== null && value.includes(this.quote)) return 'stray-quote';
    this.values.push(value);
    return after;
  }

  private closingQuote(from: number): number | 'more' | 'unclosed-quote' {
    const { text, quote, escape, final } = this;
    let at = from;
    for (;;) {
      const found = this.indexOrEnd(quote ?? '', at);
      // Only the limit decides, and not the end of a piece of text, so a file is always read in the same way.
      if (found - this.start > this.max) return 'unclosed-quote';
      if (found === text.length) return final ? 'unclosed-quote' : 'more';
      if (escape !== null && escape !== quote) {
        const escaping = this.escapeFrom(at, escape);
        if (escaping > found) return found;
        at = escaping + 2;
        continue;
      }
      if (text[found + 1] !== quote) return found;
      at = found + 2;
    }
  }

  private unescape(value: string): string {
    const { quote, escape } = this;
    if (quote === null || escape === null || !value.includes(escape)) return value;
    if (escape === quote) return value.replaceAll(quote + quote, quote);
    let result = '';
    for (let index = 0; index < value.length; index++) {
      const next = value[index + 1];
      if (value[index] === escape && (next === quote || next === escape)) index++;
      result += value[index];
    }
    return result;
  }

  /** The position after a row's end at `at`, or undefined if the row does not end there. */
  private afterTerminator(at: number, terminator: string): number | undefined {
    const { text } = this;
    if (at >= text.length) return text.length;
    if (text.startsWith(terminator, at)) return at + terminator.length;
    if (!this.lineEnds || terminator !== '\n' || text[at] !== '\r') return undefined;
    const end = this.afterCarriageReturns(at);
    return end === text.length || text[end] === '\n' ? end + 1 : undefined;
  }

  /**
   * Gives up on a row at the value that begins at `from`. Reading resumes after the line on which that value begins:
   * otherwise a quote that is never closed would include all rows after it.
   */
  private fail(defect: Defect, from: number, terminator: string): boolean {
    const boundary = this.terminatorFrom(from, terminator);
    if (boundary - this.start > this.max) return this.cutOff(boundary, terminator);
    if (boundary === this.text.length && !this.final) return false;
    this.defect = defect;
    this.finish(this.withoutCarriageReturn(boundary), boundary + terminator.length);
    return true;
  }

  /** Reports a row that exceeds the limit, possibly before its end was read, and skips the rest of the row. */
  private cutOff(boundary: number, terminator: string): boolean {
    this.defect = 'too-long';
    this.discarding = true;
    // If the end of the row was not found, it may begin in the last characters.
    const seen = boundary < this.text.length ? boundary : this.text.length - terminator.length + 1;
    this.finish(Math.max(this.start, seen), Math.max(this.start, seen));
    this.length = RAW_CHARACTERS_MAX;
    return true;
  }

  /** Drops text up to the end of a row that is too long, or of a line before the header. */
  private passOver(terminator: string): boolean {
    const ending = this.discarding || this.lineEnds ? terminator : '\n';
    const found = this.text.indexOf(ending, this.position);
    if (found === -1) {
      this.advance(this.final ? this.text.length : Math.max(this.position, this.text.length - ending.length + 1));
      return false;
    }
    this.advance(found + ending.length);
    if (this.discarding) this.discarding = false;
    else this.linesToSkip--;
    return true;
  }

  /**
   * Finds the first line end that is not inside quotes: a CR without LF means that the file uses CR; otherwise it uses
   * LF, CRLF or CR CR LF.
   */
  private detectTerminator(): string | undefined {
    const { text, quote } = this;
    let quoted = false;
    for (let at = this.position; at < text.length; at++) {
      const character = text[at];
      if (character === quote && this.linesToSkip === 0) quoted = !quoted;
      else if (quoted) continue;
      else if (character === '\n') return (this.terminator = '\n');
      else if (character === '\r') {
        // Programs that translate the line ends of a file twice write CR CR LF.
        const end = this.afterCarriageReturns(at);
        if (end === text.length && !this.final) return undefined;
        return (this.terminator = end === text.length || text[end] === '\n' ? '\n' : '\r');
      }
    }
    return this.final || text.length > this.max ? (this.terminator = '\n') : undefined;
  }

  private quoteBefore(end: number): boolean {
    if (this.quote === null) return false;
    if (this.nextQuote < this.position) this.nextQuote = this.indexOrEnd(this.quote, this.position);
    return this.nextQuote < end;
  }

  private terminatorFrom(from: number, terminator: string): number {
    if (this.nextTerminator < from) this.nextTerminator = this.indexOrEnd(terminator, from);
    return this.nextTerminator;
  }

  private delimiterFrom(from: number): number {
    if (this.nextDelimiter < from) this.nextDelimiter = this.indexOrEnd(this.delimiter, from);
    return this.nextDelimiter;
  }

  private escapeFrom(from: number, escape: string): number {
    if (this.nextEscape < from) this.nextEscape = this.indexOrEnd(escape, from);
    return this.nextEscape;
  }

  private indexOrEnd(needle: string, from: number): number {
    const found = this.text.indexOf(needle, from);
    return found === -1 ? this.text.length : found;
  }

  /** The end of a row's text if the line end is at `boundary`: before the CR of a CRLF, or before both of a CR CR LF. */
  private withoutCarriageReturn(boundary: number): number {
    let end = boundary;
    if (this.lineEnds && this.terminator === '\n') while (end > this.position && this.text[end - 1] === '\r') end--;
    return end;
  }

  private afterCarriageReturns(from: number): number {
    let at = from;
    while (this.text[at] === '\r') at++;
    return at;
  }

  private skipBlanks(from: number): number {
    let at = from;
    while (BLANKS.includes(this.text[at] ?? 'x') && !this.text.startsWith(this.delimiter, at)) at++;
    return at;
  }
}
