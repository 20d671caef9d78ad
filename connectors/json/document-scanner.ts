import { formatDocumentPath, type OpenFile, type PathStep, sourceFault } from '../../src/sdk/index.ts';
import type { Element } from './element-row.ts';
import { ValueScanner } from './value-scanner.ts';

const NAMES_SHOWN = 12;
const RAW_BYTES_MAX = 1_000;

/**
 * The states: what the scanner expects next. It follows the containers on the path to the list token by token. It skips
 * every other value as a whole, or keeps it if somebody wants a value beside the list.
 *
 *   value ──┬─ container on the path ─▶ member / item ─▶ (other ─▶ skip / keep ─▶ separator)* ─▶ value, one level deeper
 *           └─ the list itself ───────▶ element ─▶ (take ─▶ next-element)* ─▶ separator of the level above
 *   after the outermost container: end, where only white space may follow
 */
type State =
  | 'value'
  | 'member'
  | 'colon'
  | 'item'
  | 'other'
  | 'skip'
  | 'keep'
  | 'separator'
  | 'element'
  | 'take'
  | 'next-element'
  | 'end';

/** An open container on the path. */
interface Level {
  step: PathStep;
  /** True if the member or item on the path was found. */
  found: boolean;
  /** How many items of a list were read. */
  index: number;
  /** The first names of an object, for the message if the right name is missing. */
  names: string[];
}

interface DocumentScannerOptions {
  file: OpenFile;
  steps: readonly PathStep[];
  maxRecordBytes: number;
  /** Collects the values that are wanted from beside the list. */
  beside?: BesideValues;
}

/** The collection of values of a document from beside its list of records. */
export interface BesideValues {
  /**
   * True for a member that has a wanted value, or is one.
   *
   * @param path the path of the member
   */
  isWanted(path: readonly PathStep[]): boolean;
  /**
   * Gets the text of such a member; null if it is longer than `maxRecordBytes`.
   *
   * @returns a name that an object has twice on the way to a wanted value or within it, so that the value is not certain
   * @throws SyntaxError if the text is not JSON
   */
  keep(path: readonly PathStep[], text: string | null): string | undefined;
}

/**
 * Cuts the elements of one list out of a JSON document that comes in chunks. At most one element, up to
 * `maxRecordBytes`, and one chunk are in memory. The document is followed to its end, so that a document that was cut
 * off does not count as complete.
 */
export class DocumentScanner {
  private readonly options: DocumentScannerOptions;
  private readonly at: string;
  private readonly value = new ValueScanner();
  private buffer: Buffer = Buffer.alloc(0);
  private position = 0;
  private line = 1;
  private final = false;
  private state: State = 'value';
  /** True if a container was just opened, so that it may be closed at once. */
  private opened = false;
  private readonly levels: Level[] = [];
  private matched = false;
  /** The path of the member that is read, if a value beside the list is wanted from it. */
  private wanted: readonly PathStep[] | null = null;
  private readonly kept = new Set<string>();
  private index = 0;
  private valueStart = 0;
  private valueLine = 1;
  private head: Buffer | undefined;

  constructor(options: DocumentScannerOptions) {
    this.options = options;
    this.at = formatDocumentPath(options.steps);
  }

  feed(chunk: Buffer, final: boolean): void {
    const isHeld = (this.state === 'take' || this.state === 'keep') && this.head === undefined;
    const kept = isHeld ? this.valueStart : this.position;
    this.buffer = kept < this.buffer.length ? Buffer.concat([this.buffer.subarray(kept), chunk]) : chunk;
    this.position -= kept;
    this.valueStart -= kept;
    this.final = final;
  }

  /**
   * The next element, or null if more text is needed or, after the final chunk, if the document is at its end.
   *
   * @throws a `SourceFault` when the document is not JSON, is cut off, or has no list at the path.
   */
  next(): Element | null {
    for (;;) {
      if (this.state === 'take') {
        const element = this.take();
        if (element === null && this.final) throw this.fault('The document ends in the middle of a value');
        return element;
      }
      if (this.state === 'skip' || this.state === 'keep') {
        if (!(this.state === 'skip' ? this.skip() : this.keep())) return this.needMore();
        continue;
      }
      const byte = this.peek();
      if (byte === undefined) return this.needMore();
      if (!this.step(byte)) return this.needMore();
    }
  }

  private needMore(): null {
    if (this.final && this.state === 'value' && this.levels.length === 0) {
      throw sourceFault(`${this.options.file.name} is empty.`, { suggestion: 'Check the export.' });
    }
    if (this.final && this.state !== 'end') throw this.fault('The document ends before it is complete');
    return null;
  }

  /** Handles one structural character. Returns false if more bytes are needed. */
  private step(byte: string): boolean {
    const level = this.levels.at(-1);
    switch (this.state) {
      case 'value':
        this.enter(byte);
        return true;
      case 'member':
        if (byte === '}' && this.opened) return this.close();
        if (byte !== '"') throw this.unexpected('a name in quotes', byte);
        return this.takeName();
      case 'colon':
        if (byte !== ':') throw this.unexpected('a colon', byte);
        this.position++;
        this.state = this.matched ? 'value' : 'other';
        return true;
      case 'item':
        if (byte === ']' && this.opened) return this.close();
        if (level !== undefined && level.index++ === level.step) {
          level.found = true;
          this.state = 'value';
        } else this.state = 'other';
        return true;
      case 'other':
        if (',]}:'.includes(byte)) throw this.unexpected('a value', byte);
        this.begin(this.wanted === null ? 'skip' : 'keep');
        return true;
      case 'separator': {
        const list = typeof level?.step === 'number';
        if (byte === (list ? ']' : '}')) return this.close();
        if (byte !== ',') throw this.unexpected(list ? 'a comma or ]' : 'a comma or }', byte);
        this.position++;
        this.opened = false;
        this.state = list ? 'item' : 'member';
        return true;
      }
      case 'element':
        if (byte === ']' && this.opened) return this.leave();
        if (',]}:'.includes(byte)) throw this.unexpected('an element', byte);
        this.begin('take');
        return true;
      case 'next-element':
        if (byte === ']') return this.leave();
        if (byte !== ',') throw this.unexpected('a comma or ]', byte);
        this.position++;
        this.opened = false;
        this.state = 'element';
        return true;
      case 'end':
        throw this.unexpected('the end of the file', byte);
      case 'skip':
      case 'keep':
      case 'take':
        return true;
      default:
        return this.state satisfies never;
    }
  }

  /** Enters a value on the path. */
  private enter(byte: string): void {
    const step = this.options.steps[this.levels.length];
    const list = typeof step !== 'string';
    if (byte !== (list ? '[' : '{')) {
      const kind = byte === '{' ? 'an object' : byte === '[' ? 'a list' : 'a single value';
      throw this.fault(
        `${formatDocumentPath(this.options.steps.slice(0, this.levels.length))} is ${kind}, but ${list ? 'a list' : 'an object'} is expected`,
        'Set `at` to the path of the list of records, such as $.data.parts. For one object per line set `format: ndjson`, and for one object per file `format: object`.',
      );
    }
    this.position++;
    this.opened = true;
    if (step === undefined) this.state = 'element';
    else {
      this.levels.push({ step, found: false, index: 0, names: [] });
      this.state = list ? 'item' : 'member';
    }
  }

  private takeName(): boolean {
    this.value.reset();
    const end = this.value.scan(this.buffer, this.position);
    if (end === -1) {
      if (this.buffer.length - this.position <= this.options.maxRecordBytes) return false;
      throw this.fault(`A name is longer than ${this.options.maxRecordBytes} bytes`);
    }
    const text = this.buffer.toString('utf8', this.position, end);
    const name = this.parseName(text);
    const level = this.levels.at(-1);
    this.matched = level?.step === name;
    if (level !== undefined) {
      if (this.matched && level.found) throw this.fault(`The name ${JSON.stringify(name)} is twice in one object`);
      if (this.matched) level.found = true;
      if (level.names.length < NAMES_SHOWN) level.names.push(name);
    }
    const path = [...this.options.steps.slice(0, this.levels.length - 1), name];
    this.wanted = !this.matched && this.options.beside?.isWanted(path) === true ? path : null;
    this.position = end;
    this.state = 'colon';
    return true;
  }

  private parseName(text: string): string {
    try {
      return JSON.parse(text) as string;
    } catch (error) {
      throw this.fault('A name is not valid JSON', undefined, error);
    }
  }

  /** Closes the innermost container on the path. */
  private close(): boolean {
    const level = this.levels.at(-1);
    if (level !== undefined && !level.found) {
      const where = formatDocumentPath(this.options.steps.slice(0, this.levels.length - 1));
      const missing =
        typeof level.step === 'number' ? `no item ${level.step}` : `no member ${JSON.stringify(level.step)}`;
      const names = level.names.length > 0 ? ` It has ${level.names.join(', ')}.` : '';
      throw this.fault(`${where} has ${missing}`, `Correct \`at\`.${names}`);
    }
    this.levels.pop();
    return this.leave();
  }

  /** Leaves a container on the path, or the list. */
  private leave(): boolean {
    this.position++;
    this.state = this.levels.length === 0 ? 'end' : 'separator';
    return true;
  }

  private begin(state: 'skip' | 'keep' | 'take'): void {
    this.value.reset();
    this.state = state;
    this.valueStart = this.position;
    this.valueLine = this.line;
    this.head = undefined;
  }

  private skip(): boolean {
    const end = this.value.scan(this.buffer, this.position);
    this.position = end === -1 ? this.buffer.length : end;
    if (end === -1) return false;
    this.line += this.value.lines;
    this.state = 'separator';
    return true;
  }

  private keep(): boolean {
    const end = this.scanHeld();
    if (end === -1) return false;
    const wanted = this.wanted ?? [];
    const path = formatDocumentPath(wanted);
    if (this.kept.has(path)) throw this.fault(`The name ${JSON.stringify(wanted.at(-1))} is twice in one object`);
    this.kept.add(path);
    const text = this.head === undefined ? this.buffer.toString('utf8', this.valueStart, end) : null;
    let repeated: string | undefined;
    try {
      repeated = this.options.beside?.keep(wanted, text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw this.fault(`The value at ${path} is not valid JSON`, undefined, error);
    }
    if (repeated !== undefined) throw this.fault(`The name ${JSON.stringify(repeated)} is twice in one object`);
    this.state = 'separator';
    return true;
  }

  /** Follows a value that is held in memory. The position after the value, or -1 if more text is needed. */
  private scanHeld(): number {
    const end = this.value.scan(this.buffer, this.position);
    this.position = end === -1 ? this.buffer.length : end;
    if (this.head === undefined && this.position - this.valueStart > this.options.maxRecordBytes) {
      // From here on the value is only followed to its end.
      this.head = Buffer.from(this.buffer.subarray(this.valueStart, this.valueStart + RAW_BYTES_MAX));
    }
    if (end !== -1) this.line += this.value.lines;
    return end;
  }

  private take(): Element | null {
    const { file, steps } = this.options;
    const end = this.scanHeld();
    if (end === -1) return null;
    this.state = 'next-element';
    return {
      bytes: this.head ?? this.buffer.subarray(this.valueStart, end),
      tooLong: this.head !== undefined,
      members: this.value.members,
      deepest: this.value.deepest,
      place: { file: file.name, line: this.valueLine, path: formatDocumentPath([...steps, this.index++]) },
    };
  }

  /** Skips white space and returns the character after it, or undefined if there is none yet. */
  private peek(): string | undefined {
    const { buffer } = this;
    while (this.position < buffer.length) {
      const byte = buffer[this.position];
      if (byte === 0x0a) this.line++;
      else if (byte !== 0x20 && byte !== 0x0d && byte !== 0x09) return String.fromCharCode(byte ?? 0);
      this.position++;
    }
    return undefined;
  }

  private unexpected(expected: string, found: string): Error {
    return this.fault(`Expected ${expected}, found ${JSON.stringify(found)}`);
  }

  private fault(message: string, suggestion?: string, cause?: unknown): Error {
    const inList = this.state === 'take' || this.state === 'element' || this.state === 'next-element';
    const path = inList ? `, ${formatDocumentPath([...this.options.steps, this.index])}` : '';
    return sourceFault(`${message} (${this.options.file.name}, line ${this.line}${path}; the list is ${this.at}).`, {
      suggestion: suggestion ?? 'The file is not valid JSON or was cut off. Export it again.',
      cause,
    });
  }
}
