import { sourceFault } from '../connector.ts';
import { contentFault, recogniseContent } from '../files/recognise.ts';

/** The most entities. Real files need less: all entity sets of ISO 8879 together have about a thousand. */
const ENTITIES_MAX = 5_000;
/** The most default attributes of all elements together. */
const DEFAULTS_MAX = 5_000;
/** The longest text of one entity, with the texts of the entities in it. */
const EXPANSION_MAX = 65_536;
/** The longest internal subset. */
const DOCTYPE_MAX = 1024 * 1024;
/** How deeply entities may be nested. */
const DEPTH_MAX = 16;
/**
 * When the texts of entities have more characters than this, they may have at most `FACTOR_MAX` times as many as the
 * text that was read.
 */
const FREE_CHARACTERS = 8 * 1024 * 1024;
const FACTOR_MAX = 100;

/** The name of an entity. */
const NAME = /^[\p{L}_:][\p{L}\p{N}._:·-]*$/u;
const NAME_CHARACTERS_MAX = 1_000;
/** How many characters after a wrong `&` its message shows. */
const SHOWN_MAX = 30;

/** What to do about a `&` that is text. */
const CURE_AMPERSAND =
  'In XML, write `&amp;` for a & that is text. Correct this in the program that writes the export.';

const PREDEFINED = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);

type Entity = { text: string } | { external: string };

interface EntityContext {
  /** The name of the file in messages. */
  file: string;
  /** The position of the parser, such as `line 3, column 7`. */
  where(): string;
  /** The line of the parser. */
  line(): number;
  /** How many characters were read so far. */
  position(): number;
  /** Counts the characters of the text that replaced a reference. */
  expanded(characters: number): void;
}

/**
 * The entities and the default attributes of a document. Entities are expanded within limits, so that a small file cannot become gigabytes of text: this attack is known as
 * "billion laughs". Files outside the document are never read.
 *
 * @param given entities that the operator declares, such as those of a DTD that is not read
 */
export function createEntities(given: Readonly<Record<string, string>>, context: EntityContext) {
  const declared = new Map<string, Entity>(
    Object.entries(given).map(([name, text]) => [name, { text: escapeText(text) }]),
  );
  const expansions = new Map<string, string>();
  /** The defaults by element and attribute, as the text between the quotes. */
  const defaults = new Map<string, Map<string, string>>();
  const expandedDefaults = new Map<string, (readonly [string, string])[]>();
  let defaultsCount = 0;
  let externalSubset: string | undefined;
  let total = 0;

  const fail = (what: string, suggestion: string): Error =>
    sourceFault(`${context.file}, ${context.where()}: ${what}`, { suggestion });

  const expand = (name: string, within: readonly string[]): string => {
    const known = PREDEFINED.get(name) ?? expansions.get(name);
    if (known !== undefined) return known;
    const entity = declared.get(name);
    if (entity === undefined) throw undeclared(name);
    if ('external' in entity) {
      throw fail(
        `The entity &${name}; stands for another file (${entity.external}), which is never read.`,
        'Write the text into the file itself. dpp-sync opens no file and no address that an export names.',
      );
    }
    if (within.includes(name)) throw fail(`The entity &${name}; refers to itself.`, 'Correct the export.');
    if (within.length >= DEPTH_MAX) {
      throw fail(`Entities refer to entities more than ${DEPTH_MAX} levels deep.`, HOSTILE);
    }
    const text = expandText(entity.text, name, [...within, name]);
    expansions.set(name, text);
    return text;
  };

  const expandText = (text: string, name: string, within: readonly string[]): string => {
    if (text.includes('<')) {
      throw fail(
        `The entity &${name}; has elements in it, and only text is supported.`,
        'Write the elements in place of the entity.',
      );
    }
    let result = '';
    let end = 0;
    for (const match of text.matchAll(/&(?:#([xX]?)([0-9a-fA-F]+)|([^;&#\s]+));/g)) {
      const [whole, hex, digits, inner] = match;
      result += text.slice(end, match.index);
      result += inner === undefined ? characterOf(hex ?? '', digits ?? '') : expand(inner, within);
      end = match.index + whole.length;
      if (result.length > EXPANSION_MAX) break;
    }
    result += text.slice(end);
    if (result.length > EXPANSION_MAX) {
      throw fail(`The entity &${name}; stands for more than ${EXPANSION_MAX} characters.`, HOSTILE);
    }
    return result;
  };

  const undeclared = (unknown: string): Error => {
    if (unknown.length > NAME_CHARACTERS_MAX || !NAME.test(unknown)) return bareAmpersand(unknown);
    const name = unknown.slice(0, 100);
    return fail(
      externalSubset === undefined
        ? `The entity &${name}; is not declared in the file.`
        : `The entity &${name}; is not declared in the file. It may be declared in ${externalSubset}, which is never read.`,
      `Write the character itself, or set \`entities: { ${name}: … }\` to its text. If the & itself is text, write \`&amp;\`.`,
    );
  };

  /** The parser takes all characters up to the next `;` for the name, so the `&` may be on an earlier line. */
  const bareAmpersand = (unknown: string): Error => {
    const line = context.line() - (unknown.split('\n').length - 1);
    const [shown = ''] = unknown.split(/[\n<&]/, 1);
    return sourceFault(
      `${context.file}, line ${line}: The & in ${JSON.stringify(`&${shown.slice(0, SHOWN_MAX)}`)} is no reference of XML.`,
      { suggestion: CURE_AMPERSAND },
    );
  };

  /** Counts the text of an entity at each use. */
  const counted = (text: string): string => {
    total += text.length;
    if (total > FREE_CHARACTERS && total > FACTOR_MAX * context.position()) {
      throw fail(`The entities stand for more than ${FACTOR_MAX} times the text of the file.`, HOSTILE);
    }
    context.expanded(text.length);
    return text;
  };

  const addDefaults = (declaration: string): void => {
    const list = attributeListOf(declaration);
    if (list === null) return;
    for (const [name, text] of list.defaults) {
      const known = defaults.get(list.element) ?? new Map<string, string>();
      defaults.set(list.element, known);
      // The first declaration of a name counts, as it does for entities.
      if (!known.has(name)) known.set(name, withCharacters(text));
      if (++defaultsCount > DEFAULTS_MAX) {
        throw fail(`The document type declares more than ${DEFAULTS_MAX} default attributes.`, HOSTILE);
      }
    }
  };

  return {
    /** Reads the declarations of a document type, such as `BMECAT SYSTEM "bmecat.dtd" [ … ]`. */
    declare(doctype: string): void {
      if (doctype.length > DOCTYPE_MAX) {
        throw fail(`The document type is longer than ${DOCTYPE_MAX} characters.`, HOSTILE);
      }
      const bracket = doctype.indexOf('[');
      const identifier = bracket === -1 ? doctype : doctype.slice(0, bracket);
      externalSubset = /(?:SYSTEM\s+|PUBLIC\s+(?:"[^"]*"|'[^']*')\s+)("[^"]*"|'[^']*')/.exec(identifier)?.[1];
      if (bracket === -1) return;
      for (const declaration of declarations(doctype.slice(bracket + 1, doctype.lastIndexOf(']')))) {
        if (declaration === null) throw fail('The document type has a declaration that cannot be read.', UNREADABLE);
        if ('other' in declaration) {
          addDefaults(declaration.other);
          continue;
        }
        const { name, entity } = declaration;
        // The first declaration of a name counts, and declarations of the operator come before those of the document.
        if (!declared.has(name)) declared.set(name, entity);
        if (declared.size > ENTITIES_MAX) {
          throw fail(`The document type declares more than ${ENTITIES_MAX} entities.`, HOSTILE);
        }
      }
    },
    /**
     * The text that an entity stands for.
     *
     * @throws a `sourceFault` if it is external or not declared, refers to itself, has elements in it, or is too long, and
     *   if the name is no name because the `&` before it is text
     */
    textOf: (name: string): string => counted(expand(name, [])),
    /**
     * The default attributes of an element, with their values. Null if the document declares none.
     *
     * @throws as `textOf` does
     */
    defaultsOf(element: string): readonly (readonly [name: string, value: string])[] | null {
      // Asked of every tag, and most documents declare none: to look up a name that was just cut out costs more than this.
      if (defaults.size === 0) return null;
      const declaredHere = defaults.get(element);
      if (declaredHere === undefined) return null;
      let values = expandedDefaults.get(element);
      if (values === undefined) {
        values = [...declaredHere].map(([name, text]) => [name, expandText(text, name, []).replaceAll(/\s/g, ' ')]);
        expandedDefaults.set(element, values);
      }
      for (const [, value] of values) counted(value);
      return values;
    },
  };
}

const HOSTILE = 'No normal export is written like this. Find out where the file comes from before you use it.';

const UNREADABLE = 'Write the export without the document type, or with a correct one.';

function escapeText(text: string): string {
  return text.replaceAll('&', '&#38;').replaceAll('<', '&#60;');
}

function characterOf(hex: string, digits: string): string {
  const code = Number.parseInt(digits, hex === '' ? 10 : 16);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : '\uFFFD';
}

/**
 * Matches white space, a comment, a processing instruction, a reference to a parameter entity, an entity, or another
 * declaration.
 */
const DECLARATION =
  /\s+|<!--[^]*?-->|<\?[^]*?\?>|%[^\s;<>]+;|<!ENTITY\s+(?:(%)\s+)?([^\s%"'<>&]+)\s+(?:"([^"]*)"|'([^']*)'|(?:SYSTEM|PUBLIC\s+(?:"[^"]*"|'[^']*'))\s+("[^"]*"|'[^']*'))[^<>]*>|<![A-Z](?:"[^"]*"|'[^']*'|[^"'<>])*>/;

/**
 * The general entities that an internal subset declares, and its other declarations as text. Parameter entities are
 * only needed for validation, so they are ignored. Null stands for text that is not a declaration. The text after it is
 * not read, so the time is in proportion to the length.
 */
function* declarations(subset: string): Generator<{ name: string; entity: Entity } | { other: string } | null> {
  const token = new RegExp(DECLARATION, 'y');
  while (token.lastIndex < subset.length) {
    const match = token.exec(subset);
    if (match === null) {
      yield null;
      return;
    }
    const [whole, parameter, name, double, single, external] = match;
    if (name === undefined) yield { other: whole };
    if (name === undefined || parameter !== undefined) continue;
    const text = double ?? single;
    yield {
      name,
      // Numeric references are replaced at the declaration, so `&#38;#60;` is `&#60;` when the entity is used.
      entity: text === undefined ? { external: external ?? '' } : { text: withCharacters(text) },
    };
  }
}

function withCharacters(text: string): string {
  return text.replace(/&#([xX]?)([0-9a-fA-F]+);/g, (_all, hex: string, digits: string) => characterOf(hex, digits));
}

/** The type and the default of one attribute: `mode (new | old) "new"`. */
const ATTRIBUTE =
  /\s+([^\s"'<>()|%]+)\s+(?:NOTATION\s*\([^()]*\)|\([^()]*\)|[A-Z]+)\s+(?:#REQUIRED|#IMPLIED|(?:#FIXED\s+)?(?:"([^"<]*)"|'([^'<]*)'))/y;

interface AttributeList {
  element: string;
  /** The names of attributes with the texts between their quotes. Attributes without a default are left out. */
  defaults: [name: string, text: string][];
}

/** Reads `<!ATTLIST element …>` up to the first part that does not have this form. Null for another declaration. */
function attributeListOf(declaration: string): AttributeList | null {
  const head = /^<!ATTLIST\s+([^\s"'<>()|%]+)/.exec(declaration);
  if (head === null) return null;
  const attribute = new RegExp(ATTRIBUTE, 'y');
  attribute.lastIndex = head[0].length;
  const defaults: AttributeList['defaults'] = [];
  for (let match = attribute.exec(declaration); match !== null; match = attribute.exec(declaration)) {
    const [, name = '', double, single] = match;
    const text = double ?? single;
    if (text !== undefined) defaults.push([name, text]);
  }
  return { element: head[1] ?? '', defaults };
}

/**
 * Refuses a file that is not XML, and says which kind of file it is.
 *
 * @param head the file's first bytes
 * @param text the decoded text of these bytes
 * @throws a `sourceFault`
 */
export function assertXml(head: Buffer, text: string, file: string): void {
  const fail = (what: string, suggestion: string): Error => sourceFault(`${file} ${what}, not XML.`, { suggestion });
  const start = text.replace(/^[\uFEFF\s]+/, '');
  const kind = recogniseContent(head);
  // An XML document may have HTML within it, and the XML of a workbook has rows like any other.
  const isPage = /^(?:<!doctype\s+html|<html[\s>]|[^<])/i.test(start);
  const isXml = kind === 'xml' || ((kind === 'html' || kind === 'markup') && !isPage);
  if (kind !== null && !isXml) throw contentFault(file, kind, 'XML', head);
  if (start === '') {
    throw sourceFault(`${file} is empty.`, {
      suggestion: 'Check the export. A file without records still has its root element.',
    });
  }
  if (start.startsWith('<')) return;
  if (head.includes(0)) throw fail('is a binary file', 'Check the path and the format of the export.');
  if (/^[{[]/.test(start)) throw fail('looks like JSON', 'Use the connector `json`.');
  const line = start.split(/[\r\n]/, 1).join();
  if (/[;,\t|]/.test(line)) throw fail('looks like delimited text (CSV)', 'Use the connector `csv`.');
  throw fail(`begins with ${JSON.stringify(line.slice(0, 40))}`, 'Check the path and the format of the export.');
}

/** Reasons of the parser that have a cure of their own. */
const CURES: Readonly<Record<string, string>> = {
  'empty entity name': CURE_AMPERSAND,
  'malformed character entity': CURE_AMPERSAND,
  'disallowed character in tag name':
    'In XML, write `&lt;` for a < that is text. Correct this in the program that writes the export.',
};

/** Describes why the parser refuses a document, and what to do. */
export function describeMalformed(
  reason: string,
  { open, closed }: { open: string | undefined; closed: string },
): [what: string, cure: string] {
  const inside = open === undefined ? '' : ` in <${open}>`;
  if (/^(unclosed tag|unexpected end|document must contain a root)/.test(reason)) {
    return [
      `The file ends before it is complete${inside}.`,
      'Export the file again, and check that the whole file is copied.',
    ];
  }
  const bare = reason.replace(/\.$/, '');
  const why = bare === 'unexpected close tag' ? `the closing tag of <${closed}> is missing` : bare;
  const cure = CURES[bare] ?? 'The rest of the file is not read. Export it again.';
  return [`The file is not well-formed XML${inside}: ${why}.`, cure];
}
