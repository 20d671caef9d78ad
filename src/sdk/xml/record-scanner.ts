import type { SaxesParser, SaxesTagPlain } from 'saxes';
import type { Issue, Place } from '../../domain/issue.ts';
import type { IssueCode } from '../../domain/words/issues.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import {
  addAttribute,
  addChild,
  addText,
  createElement,
  createNames,
  type Element,
  type ElementRules,
  type Names,
  resetElement,
  TextBounds,
  valueOf,
} from './element.ts';
import { createEntities, describeMalformed } from './entities.ts';
import {
  AncestorValues,
  createPathMatcher,
  PathProgress,
  type PathState,
  VALUE_CHARACTERS_MAX,
} from './record-path.ts';
import { encodingIssues, partialFields, takenIssue, type XmlRecord, type XmlRecordOptions } from './xml-record.ts';

/** How deeply elements may be nested, in the whole document and in a record. */
const DOCUMENT_DEPTH_MAX = 1_000;
const RECORD_DEPTH_MAX = 100;
const ATTRIBUTES_MAX = 1_000;
const NAME_CHARACTERS_MAX = 1_000;
/** The most elements and attributes of one record. */
const RECORD_MEMBERS_MAX = 100_000;

/** A record that is being read, perhaps within another one. */
interface OpenRecord {
  /** The index of the record in `elements`. */
  index: number;
  place: Place;
  start: number;
}

/**
 * Cuts records out of an XML document that comes in pieces. In memory are one record, up to `maxRecordBytes`, and the
 * records of the last piece that were not taken.
 *
 *   outside ── tag that is a record ─▶ in a record ── its end ─▶ outside
 *                                          └── a limit is passed: a row with an issue ─▶ outside
 */
export class RecordScanner {
  private readonly file: string;
  private readonly parser: SaxesParser;
  private readonly options: XmlRecordOptions;
  private readonly maxRecordBytes: number;
  private readonly rules: ElementRules;
  private readonly names: Names;
  /** Empty if no language is to be chosen. */
  private readonly languageAttributes: ReadonlySet<string>;
  private readonly ancestors: AncestorValues | null;
  /** The state of the paths after each open tag; the first state is that of the document itself. */
  private readonly states: PathState[];
  private readonly path: string[] = [];
  /** The element that ended last. */
  private closed = '';
  /** The elements of the outermost open record. The entries after the open elements are kept for reuse. */
  private readonly elements: Element[] = [];
  private depth = 0;
  private open: OpenRecord[] = [];
  private members = 0;
  private done: XmlRecord[] = [];
  /** Null from the first record on. */
  private progress: PathProgress | null;
  private tagLine = 1;
  /** The column of the last tag; null if the name of the tag ends the line. */
  private tagColumn: number | null = 1;
  /** The line on which the last record began. */
  private recordLine = 0;
  private tagStart = 0;
  private attributes = 0;
  private readonly bounds: TextBounds;
  /** True if the present piece has U+FFFD, or an earlier piece with a part of an open record has it. */
  private damaged = false;

  private readonly onText = (text: string): void => this.addText(text);

  /** @param parser a new parser without namespaces */
  constructor(parser: SaxesParser, file: string, options: XmlRecordOptions) {
    this.parser = parser;
    this.file = file;
    this.options = options;
    this.maxRecordBytes = options.maxRecordBytes ?? 1024 * 1024;
    this.bounds = new TextBounds(this.maxRecordBytes);
    this.rules = {
      lists: new Set(options.lists),
      objects: new Set(options.objects),
      languages: options.language ?? [],
      trim: options.trim ?? false,
    };
    const attributes = ['lang', 'xml:lang', ...(options.languageAttributes ?? [])].map((name) => `@${name}`);
    this.languageAttributes = new Set(options.language === undefined ? [] : attributes);
    this.names = createNames(options.prefixes ?? 'strip');
    this.ancestors = options.parent === undefined ? null : new AncestorValues(options.parent);
    const start = createPathMatcher(options.at);
    this.states = [start];
    this.progress = new PathProgress(start);
    this.listen();
  }

  /** @throws a `sourceFault` when the document is not well-formed or passes a limit */
  feed(text: string): void {
    this.damaged = text.includes('\uFFFD') || (this.damaged && this.open.length > 0);
    this.parse(() => this.parser.write(text));
    if (!this.bounds.fed(text.length)) return;
    this.endReference();
    throw this.tooLong();
  }

  /** @throws a `sourceFault` when the document is cut off, or cannot hold the records */
  end(): void {
    if (this.path.length > 0) this.endReference();
    this.parse(() => this.parser.close());
    const none = this.progress?.explain() ?? null;
    if (none === null) return;
    const message = `${this.file} has no element ${this.options.at}: ${none.message}`;
    if (!none.isFault) this.options.onNoRecords?.(message);
    else throw sourceFault(message, { suggestion: CURE_WRONG_PATH });
  }

  /**
   * Ends the reference that the parser is reading, if there is one. After a `&` that is text, the parser takes the rest of the
   * document for the name of an entity. The `;` makes the parser look up this name, which reports the `&`.
   */
  private endReference(): void {
    try {
      this.parser.write(';');
    } catch (error) {
      // Elsewhere, as within a tag, the `;` is a mistake of its own, which does not count.
      if (!isPlain(error)) throw error;
    }
  }

  /** The records that were read since the last call, in the order in which they end. */
  take(): XmlRecord[] {
    const { done } = this;
    this.done = [];
    return done;
  }

  /**
   * If too many properties with computed names are added to an object, as `on` does, V8 stores the object as a hash
   * table, and the parser takes six times as long. So there are few handlers, and all are set before the first text.
   */
  private listen(): void {
    const { parser } = this;
    const entities = createEntities(this.options.entities ?? {}, {
      file: this.file,
      where: () => this.where(),
      line: () => parser.line,
      position: () => parser.position,
      expanded: (characters) => {
        if (this.bounds.expand(characters)) throw this.tooLong();
      },
    });
    // The parser looks up `amp` and the like in its own object. All other names are looked up in the prototype.
    const others = new Proxy(
      {},
      { get: (_target, name) => (typeof name === 'string' ? entities.textOf(name) : undefined) },
    );
    parser.ENTITIES = Object.assign(Object.create(others), { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" });
    parser.on('doctype', (text) => {
      this.bounds.event();
      entities.declare(text);
    });
    parser.on('opentagstart', ({ name }) => {
      this.bounds.event();
      this.attributes = 0;
      // The parser has read the character after the name, which may be a line end.
      const isAtEnd = parser.column === 0;
      this.tagLine = isAtEnd ? parser.line - 1 : parser.line;
      this.tagColumn = isAtEnd ? null : parser.column - name.length - 1;
      this.tagStart = parser.position;
    });
    parser.on('attribute', () => {
      this.bounds.event();
      if (++this.attributes > ATTRIBUTES_MAX) {
        throw this.fault(`An element has more than ${ATTRIBUTES_MAX} attributes.`, CURE_CHECK);
      }
      if (parser.position - this.tagStart > this.bounds.max) throw this.tooLong();
    });
    parser.on('opentag', (tag) => {
      for (const [name, value] of entities.defaultsOf(tag.name) ?? []) {
        if (!Object.hasOwn(tag.attributes, name)) tag.attributes[name] = value;
      }
      this.openTag(tag);
    });
    parser.on('closetag', () => this.closeTag());
    parser.on('cdata', this.onText);
    parser.on('text', this.onText);
    parser.off('text');
  }

  /** Listens to text only if it is needed: the parser skips other text faster. */
  private listenToText(): void {
    if (this.depth > 0 || this.ancestors?.wantsText === true) {
      this.parser.on('text', this.onText);
    } else this.parser.off('text');
  }

  private addText(text: string): void {
    this.bounds.event();
    const element = this.elements[this.depth - 1];
    // One element may have any number of texts with comments between them, so the length of all of them is checked.
    if (element !== undefined && (element.text === '' || !this.giveUpIfTooLong())) addText(element, text);
    if (this.ancestors?.wantsText !== true) return;
    try {
      this.ancestors.addText(text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw this.fault(
        `The element ${error.message} is longer than ${VALUE_CHARACTERS_MAX} characters, which is too long to be copied into every row.`,
        'Remove the element from `parent`.',
      );
    }
  }

  private openTag(tag: SaxesTagPlain): void {
    this.bounds.event();
    const name = this.names.element(tag.name);
    if (name.length > NAME_CHARACTERS_MAX) {
      throw this.fault(`The name of an element is longer than ${NAME_CHARACTERS_MAX} characters.`, CURE_CHECK);
    }
    this.path.push(name);
    if (this.path.length > DOCUMENT_DEPTH_MAX) {
      throw this.fault(`Elements are nested more than ${DOCUMENT_DEPTH_MAX} levels deep.`, CURE_CHECK);
    }
    if (this.path.length === 1) this.checkRoot(name);
    if (this.path.length <= 2) this.options.onOutline?.(`/${this.path.join('/')}`);
    const parent = this.states.at(-1);
    if (parent === undefined) return;
    const state = parent.enter(name);
    this.states.push(state);
    if (state.matched) this.progress = null;
    else this.progress?.enter(name, state, parent);
    this.ancestors?.open(name, (attribute) => this.attributeOf(tag, attribute));
    if (state.matched) this.beginRecord();
    if (this.open.length > 0) this.openElement(name, tag);
    if (this.ancestors !== null || state.matched) this.listenToText();
  }

  /** A file may have all its records on one line, so the place of each record but the first of a line has the column. */
  private beginRecord(): void {
    let path = `/${this.path.join('/')}`;
    if (this.tagLine === this.recordLine)
      path += this.tagColumn === null ? '[end of line]' : `[column ${this.tagColumn}]`;
    this.recordLine = this.tagLine;
    const place = { file: this.file, line: this.tagLine, path };
    this.open.push({ index: this.depth, place, start: this.tagStart + this.bounds.expanded });
  }

  private openElement(name: string, tag: SaxesTagPlain): void {
    const element = (this.elements[this.depth++] ??= createElement());
    resetElement(element, name);
    this.members++;
    for (const raw in tag.attributes) {
      const value = tag.attributes[raw] ?? '';
      const attribute = this.names.attribute(raw);
      if (attribute === null) continue;
      this.members++;
      if (raw === 'xsi:nil') element.isNil = value === 'true' || value === '1';
      else if (this.depth > 1 && this.languageAttributes.has(attribute)) element.language = value;
      else {
        const taken = element.fields !== null && Object.hasOwn(element.fields, attribute);
        addAttribute(element, taken ? `@${raw}` : attribute, value);
      }
    }
    if (this.depth > RECORD_DEPTH_MAX) {
      this.giveUp('row.depth', `The elements of the record are nested more than ${RECORD_DEPTH_MAX} levels deep.`);
    } else if (this.members > RECORD_MEMBERS_MAX) {
      this.giveUp('row.members', `The record has more than ${RECORD_MEMBERS_MAX} elements and attributes.`, CURE_PATH);
    }
  }

  private closeTag(): void {
    this.bounds.event();
    const element = this.elements[this.depth - 1];
    if (element !== undefined) this.closeElement(element);
    this.ancestors?.close();
    this.states.pop();
    this.closed = this.path.pop() ?? '';
    if (this.ancestors !== null || (element !== undefined && this.depth === 0)) this.listenToText();
  }

  private closeElement(element: Element): void {
    if (this.giveUpIfTooLong()) return;
    this.depth--;
    const record = this.open.at(-1);
    const parent = this.elements[this.depth - 1];
    const value = valueOf(element, this.rules);
    if (record?.index === this.depth) {
      this.open.pop();
      this.finish(record, element.name, value);
    }
    if (parent !== undefined) addChild(parent, element, value, this.rules.lists);
    else this.members = 0;
  }

  private finish(record: OpenRecord, name: string, value: JsonValue): void {
    const own = objectOf(value);
    const around = this.ancestors?.values() ?? {};
    const fields = this.ancestors === null ? own : { ...around, ...own };
    const issues = this.damaged ? encodingIssues(fields) : [];
    for (const member of Object.keys(around)) if (Object.hasOwn(own, member)) issues.push(takenIssue(member));
    const length = this.lengthOf(record);
    this.done.push({ name, fields, place: record.place, length, ...(issues.length === 0 ? {} : { issues }) });
  }

  private lengthOf(record: OpenRecord): number {
    return this.parser.position + this.bounds.expanded - record.start;
  }

  private giveUpIfTooLong(): boolean {
    const outermost = this.open[0];
    if (outermost === undefined || this.lengthOf(outermost) <= this.maxRecordBytes) return false;
    const cure = 'Raise `maxRecordBytes`, or set the path to smaller elements.';
    this.giveUp('row.length', `The record is longer than ${this.maxRecordBytes} characters.`, cure);
    return true;
  }

  /** Reports the open records as rows that cannot be used, and continues after them. */
  private giveUp(code: IssueCode, message: string, cure?: string): void {
    for (const record of this.open) {
      const element = this.elements[record.index];
      if (element === undefined) continue;
      const within = record.index === 0 ? message : `The record is inside another record. ${message}`;
      const issue: Issue = { code, message: within, ...(cure === undefined ? {} : { cure }) };
      const fields = partialFields(element.fields ?? {});
      this.done.push({ name: element.name, fields, place: record.place, length: this.maxRecordBytes, issues: [issue] });
    }
    this.open = [];
    this.depth = 0;
    this.members = 0;
    this.listenToText();
  }

  private checkRoot(name: string): void {
    const { roots } = this.options;
    if (roots === undefined || roots.includes(name)) return;
    throw sourceFault(`${this.file} is an XML document of <${name}>, not of <${roots.join('> or <')}>.`, {
      suggestion: 'Check whether this is the right file, and whether the connector is the right one for it.',
    });
  }

  private attributeOf(tag: SaxesTagPlain, wanted: string): string | undefined {
    if (Object.hasOwn(tag.attributes, wanted)) return tag.attributes[wanted];
    for (const raw in tag.attributes) if (this.names.attribute(raw) === `@${wanted}`) return tag.attributes[raw];
    return undefined;
  }

  /** Without a handler for errors the parser throws plain errors, which are converted here. */
  private parse(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!isPlain(error)) throw error;
      const [what, cure] = describeMalformed(error.message, { open: this.path.at(-1), closed: this.closed });
      throw this.fault(what, cure);
    }
  }

  private tooLong(): Error {
    return this.fault(
      `A text, comment or attribute is longer than ${this.bounds.max} characters.`,
      'Remove this text from the export, or raise `maxRecordBytes`.',
    );
  }

  private fault(what: string, suggestion: string): Error {
    return sourceFault(`${this.file}, ${this.where()}: ${what}`, { suggestion });
  }

  private where(): string {
    return `line ${this.parser.line}, column ${this.parser.column + 1}`;
  }
}

const CURE_CHECK = 'Check the export: a catalogue does not have this form.';
const CURE_WRONG_PATH =
  'Correct the path, or check whether this is the right file. Names are compared with upper and lower case.';
const CURE_PATH = 'Set the path to smaller elements.';

/** True for an error of the parser, and false for a fault. */
function isPlain(error: unknown): error is Error {
  return error instanceof Error && error.constructor === Error;
}

function objectOf(value: JsonValue): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { '#text': value };
}
