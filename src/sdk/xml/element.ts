import { type JsonObject, type JsonValue, setMember } from '../../lib/json.ts';

/** The rules by which elements become values. */
export interface ElementRules {
  /** Elements that are lists also if there is only one. */
  lists: ReadonlySet<string>;
  /** Elements that are objects even if they have only text. */
  objects: ReadonlySet<string>;
  /** Languages in the order in which they are preferred. */
  languages: readonly string[];
  trim: boolean;
}

/** An element that is being read. */
export interface Element {
  name: string;
  /** The attributes and children of the element; null while there are none. */
  fields: JsonObject | null;
  children: number;
  text: string;
  /** The value of `xml:lang` or `lang`, if a language is to be chosen. */
  language: string | null;
  /** The children that have a language, by name and then by language. */
  byLanguage: Map<string, Map<string, JsonValue[]>> | null;
  /** The null of XML Schema: `xsi:nil="true"`. */
  isNil: boolean;
}

/** The language of text that has none. */
const UNDETERMINED = 'und';

export function createElement(): Element {
  return { name: '', fields: null, children: 0, text: '', language: null, byLanguage: null, isNil: false };
}

/**
 * Clears an element object so that it can be used for another element. A document has very many elements, so the
 * objects are reused.
 */
export function resetElement(element: Element, name: string): void {
  element.name = name;
  element.fields = null;
  element.children = 0;
  element.text = '';
  element.language = null;
  element.byLanguage = null;
  element.isNil = false;
}

export function addAttribute(element: Element, name: string, value: string): void {
  element.fields ??= {};
  setMember(element.fields, name, value);
}

export function addText(element: Element, text: string): void {
  // Line breaks and indentation between children are ignored.
  if (element.children > 0 && isBlank(text)) return;
  element.text += text;
}

/** Adds a child that was read to its end, with its value. */
export function addChild(parent: Element, child: Element, value: JsonValue, lists: ReadonlySet<string>): void {
  const { name, language } = child;
  parent.children++;
  parent.fields ??= {};
  if (language !== null) {
    addByLanguage(parent, name, language, value);
    return;
  }
  const { fields } = parent;
  const before = fields[name];
  // Inherited members such as `constructor` do not count.
  if (before === undefined || !Object.hasOwn(fields, name)) setMember(fields, name, lists.has(name) ? [value] : value);
  else if (Array.isArray(before)) before.push(value);
  else setMember(fields, name, [before, value]);
}

/**
 * The value of an element that was read to its end. Call it only once. The value is text if the element has only text;
 * otherwise it is an object with `@attribute`, `child` and `#text`.
 */
export function valueOf(element: Element, rules: ElementRules): JsonValue {
  const { fields } = element;
  const text = rules.trim ? element.text.trim() : element.text;
  if (fields === null) {
    if (element.isNil && isBlank(text)) return null;
    return rules.objects.has(element.name) ? { '#text': text } : text;
  }
  if (element.byLanguage !== null) chooseLanguages(fields, element.byLanguage, rules);
  if (element.children === 0 ? !element.isNil : !isBlank(text)) fields['#text'] = text;
  return fields;
}

function addByLanguage(parent: Element, name: string, language: string, value: JsonValue): void {
  parent.byLanguage ??= new Map();
  const languages = parent.byLanguage.get(name) ?? new Map<string, JsonValue[]>();
  parent.byLanguage.set(name, languages);
  const values = languages.get(language);
  if (values === undefined) languages.set(language, [value]);
  else values.push(value);
}

/**
 * Stores the value in the preferred language under the element's name, and the values in all languages under
 * `NAME@lang`.
 */
function chooseLanguages(
  fields: JsonObject,
  byLanguage: ReadonlyMap<string, ReadonlyMap<string, JsonValue[]>>,
  rules: ElementRules,
): void {
  for (const [name, given] of byLanguage) {
    const languages = new Map(given);
    const without = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (without !== undefined) languages.set(UNDETERMINED, Array.isArray(without) ? without : [without]);
    const shape = (values: JsonValue[]): JsonValue =>
      values.length === 1 && !rules.lists.has(name) ? (values[0] ?? null) : values;
    setMember(fields, name, shape(chosenOf(languages, rules.languages)));
    const all: JsonObject = {};
    for (const [language, values] of languages) setMember(all, language, shape(values));
    fields[`${name}@lang`] = all;
  }
}

function chosenOf(languages: ReadonlyMap<string, JsonValue[]>, preferred: readonly string[]): JsonValue[] {
  for (const wanted of preferred) {
    for (const [language, values] of languages) if (isLanguage(language, wanted)) return values;
  }
  return languages.get(UNDETERMINED) ?? languages.values().next().value ?? [];
}

/** `de` stands for `de-AT` too. */
function isLanguage(language: string, wanted: string): boolean {
  const code = language.toLowerCase();
  const prefix = wanted.toLowerCase();
  return code === prefix || code.startsWith(`${prefix}-`) || code.startsWith(`${prefix}_`);
}

/** True for white space as XML defines it. It runs for every text, so it is a loop for speed. */
export function isBlank(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code !== 0x20 && code !== 0x0a && code !== 0x09 && code !== 0x0d) return false;
  }
  return true;
}

/** At most this many names are remembered, because a file could have as many names as elements. */
const REMEMBERED_MAX = 10_000;

/**
 * Makes the names of a row from the names of elements and attributes. Returns the same string object for the same name,
 * so that a look-up by name is fast.
 *
 * @param prefixes whether `g:name` stays or becomes `name`
 */
export function createNames(prefixes: 'strip' | 'keep') {
  const local = (raw: string): string => {
    const colon = prefixes === 'strip' ? raw.indexOf(':') : -1;
    return unique(colon === -1 ? raw : raw.slice(colon + 1));
  };
  return {
    element: remembered(local),
    /** The name with `@` before it; null for a declaration of a namespace. */
    attribute: remembered((raw) => (raw === 'xmlns' || raw.startsWith('xmlns:') ? null : unique(`@${local(raw)}`))),
  };
}

export type Names = ReturnType<typeof createNames>;

interface Remembered<Name> {
  raw: string;
  made: Name;
  /** The name that came after this name the last time. */
  next: Remembered<Name> | undefined;
}

/**
 * Remembers the results of `make`. Elements mostly follow each other in the same order, so the name that came next the
 * last time is compared first. This takes less time than a look-up.
 */
function remembered<Name>(make: (raw: string) => Name): (raw: string) => Name {
  const names = new Map<string, Remembered<Name>>();
  let last: Remembered<Name> | undefined;
  return (raw) => {
    const guess = last?.next;
    if (guess?.raw === raw) {
      last = guess;
      return guess.made;
    }
    let found = names.get(raw);
    if (found === undefined) {
      if (names.size >= REMEMBERED_MAX) names.clear();
      const key = unique(raw);
      found = { raw: key, made: make(key), next: undefined };
      names.set(key, found);
    }
    if (last !== undefined) last.next = found;
    last = found;
    return found.made;
  };
}

/**
 * The name in the form in which V8 stores property keys. So the piece of the file from which the name was cut need not
 * stay in memory.
 */
function unique(name: string): string {
  return Object.keys({ [name]: true })[0] ?? name;
}

/** The longest text. The parser keeps a text in memory until the text ends, even if it belongs to no record. */
const TEXT_CHARACTERS_MAX = 16 * 1024 * 1024;

/**
 * Notices when a parser collects too much text. It counts the characters that the parser got between two of its events.
 */
export class TextBounds {
  /** The longest text, comment or attribute. */
  readonly max: number;
  /** How many characters the texts of entities had in the whole document. */
  expanded = 0;
  private events = 0;
  private eventsBefore = 0;
  private quiet = 0;
  private expandedSince = 0;
  private expandedAt = -1;

  constructor(maxRecordBytes: number) {
    this.max = Math.max(TEXT_CHARACTERS_MAX, maxRecordBytes);
  }

  /** Call it at each event of the parser. */
  event(): void {
    this.events++;
  }

  /**
   * Call it after the parser got a piece, with its number of characters. Returns true if the parser has collected too
   * many.
   */
  fed(characters: number): boolean {
    this.quiet = this.events === this.eventsBefore ? this.quiet + characters : 0;
    this.eventsBefore = this.events;
    return this.quiet > this.max;
  }

  /**
   * Call it for each expanded entity, with its number of characters. Returns true if the entities of one text have too
   * many.
   */
  expand(characters: number): boolean {
    if (this.expandedAt !== this.events) this.expandedSince = 0;
    this.expandedAt = this.events;
    this.expandedSince += characters;
    this.expanded += characters;
    return this.expandedSince > this.max;
  }
}
