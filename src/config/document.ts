import {
  CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { err, ok, type Result } from '../lib/errors.ts';
import type { ConfigProblem, PathSegment } from './problem.ts';

const PROBLEMS_MAX = 20;
const ALIASES_MAX = 100;
const DEPTH_MAX = 100;

/** A YAML or JSON file, parsed. */
export interface ConfigDocument {
  value: unknown;
  /** The line of the deepest part of the path that is there; null if no part of the path is in the file. */
  lineOf(path: readonly PathSegment[]): number | null;
}

/**
 * Parses YAML 1.2, of which JSON is a part, with three differences. Merge keys (`<<: *name`) of YAML 1.1 are known. Placeholders need no quotes anywhere, not even in
 * `{ token: ${file:/run/token} }`, which YAML alone would refuse. Numbers that YAML would change (`0123` to 123, long
 * ids to rounded ones) stay text, because in the config of an ERP they are codes and not quantities.
 *
 * The parser's messages quote the file, which may contain secrets, so they are not passed on (I7).
 */
export function parseDocumentText(text: string): Result<ConfigDocument, ConfigProblem[]> {
  const lines = new LineCounter();
  if (/[\ufdd0-\ufdd6]/.test(text))
    return err([{ path: '', line: null, message: 'found a character that Unicode reserves' }]);
  try {
    // At this log level the parser reports a second document, but prints nothing.
    const hidden = hidePlaceholders(text);
    const document = parseDocument(hidden, {
      lineCounter: lines,
      prettyErrors: false,
      logLevel: 'error',
      merge: true,
    });
    const problems: ConfigProblem[] = [];
    const report = (position: number, message: string) => addProblem(problems, lines, position, message);
    reportErrors([...document.errors, ...document.warnings], hidden, report);
    if (problems.length === 0) checkNodes(document, report);
    if (problems.length === 0) checkMerges(document, report);
    if (problems.length > 0) return err(problems);
    restoreScalars(document);
    const plain = toPlain(document);
    if (!plain.ok) return err([{ path: '', line: null, message: TOO_MANY_ALIASES }]);
    return ok({ value: plain.value, lineOf: (path) => lineOf(document, lines, path) });
  } catch (error) {
    // The parser is recursive, and throws this error if the nesting is too deep for the stack.
    if (error instanceof RangeError) return err([{ path: '', line: null, message: TOO_DEEP }]);
    throw error;
  }
}

/** The characters of placeholders that have a meaning in YAML, and the noncharacters of Unicode that replace them. */
const HIDDEN = '{}[],:#';
const HIDDEN_BASE = 0xfdd0;

/** Every character keeps its position, so that line numbers stay correct. */
function hidePlaceholders(text: string): string {
  const hide = (character: string) => String.fromCharCode(HIDDEN_BASE + HIDDEN.indexOf(character));
  return text.replace(/\$\{[^{}"'\r\n]*\}/g, (placeholder) => placeholder.replace(/[{}[\],:#]/g, hide));
}

function restorePlaceholders(text: string): string {
  return text.replace(/[\ufdd0-\ufdd6]/g, (character) => HIDDEN.charAt(character.charCodeAt(0) - HIDDEN_BASE));
}

const TOO_DEEP = `found values nested too deeply, expected at most ${DEPTH_MAX} levels`;
const TOO_MANY_ALIASES = `found aliases (*…) that stand for more than ${ALIASES_MAX} copies of a value, expected the values themselves`;

const UNQUOTED =
  'found a value with special characters outside quotes, expected it in quotes, such as \'row["Art. No"]\'';

const SYNTAX: Partial<Record<YAMLError['code'], string>> = {
  BAD_DQ_ESCAPE:
    'found a backslash in double quotes that begins no known escape, expected it doubled or in single quotes',
  BAD_INDENT: 'found a line that is indented wrongly, or a bracket or brace before it that is not closed',
  BAD_SCALAR_START: 'found a value that begins with @ or `, expected it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'found a second colon in one line, expected values with a colon in quotes',
  BLOCK_IN_FLOW: 'found a block inside brackets or braces',
  DUPLICATE_KEY: 'found a key for the second time, expected each key once',
  MISSING_CHAR: 'found that a comma, bracket, brace, quote or colon is missing here or before',
  MULTILINE_IMPLICIT_KEY: 'found text that is neither a key (with a colon and a space after it) nor the value of a key',
  MULTIPLE_DOCS: 'found a second document (---), expected one',
  RESOURCE_EXHAUSTION: TOO_DEEP,
  TAB_AS_INDENT: 'found a tab as indentation, expected spaces',
  UNEXPECTED_TOKEN: UNQUOTED,
  TAG_RESOLVE_FAILED: 'found a tag (!…), expected values that begin with ! in quotes',
};

/**
 * Of errors in the syntax only the first one is reported, because the others follow from it. If it is a value without quotes,
 * all such values are reported.
 */
const INDEPENDENT: ReadonlySet<string> = new Set([
  'DUPLICATE_KEY',
  'TAG_RESOLVE_FAILED',
  'BAD_DQ_ESCAPE',
  'BAD_SCALAR_START',
]);

function reportErrors(
  errors: readonly YAMLError[],
  text: string,
  report: (position: number, message: string) => void,
): void {
  const syntax = errors.find((error) => !INDEPENDENT.has(error.code));
  const unquoted = syntax === undefined ? [] : unquotedIn(text);
  const isUnquoted = syntax !== undefined && unquoted.includes(syntax.pos[0]);
  for (const error of errors) {
    const follows = error !== syntax || isUnquoted;
    if (follows && !INDEPENDENT.has(error.code)) continue;
    report(error.pos[0], SYNTAX[error.code] ?? `found text that is not valid YAML (${error.code})`);
  }
  if (isUnquoted) for (const position of unquoted) report(position, UNQUOTED);
}

const TEXT_BEGINS = new Set(['[', '{', '"', "'", CST.SCALAR]);
const TEXT_ENDS = new Set([']', '}', '"', "'"]);

/**
 * The places at which a bracket or a quote touches other text within braces, as in `{ a: row["b"] }`. The parser stops
 * at the first of them, but the lexer does not.
 */
function unquotedIn(text: string): number[] {
  const found: number[] = [];
  let position = 0;
  let isTouched = false;
  let isPlain = false;
  for (const token of new Lexer().lex(text)) {
    if (isTouched && TEXT_BEGINS.has(token.charAt(0))) found.push(position);
    isTouched = isPlain || TEXT_ENDS.has(token.charAt(0));
    // Before each plain scalar, and at the beginning of a document, the lexer returns a mark that is not in the text.
    isPlain = token === CST.SCALAR;
    if (!MARKS.has(token)) position += token.length;
  }
  return found;
}

const MARKS: ReadonlySet<string> = new Set([CST.DOCUMENT, CST.FLOW_END, CST.SCALAR]);

function addProblem(problems: ConfigProblem[], lines: LineCounter, position: number, message: string): void {
  const { line } = lines.linePos(position);
  const known = problems.some((problem) => problem.line === line && problem.message === message);
  if (!known && problems.length < PROBLEMS_MAX) problems.push({ path: '', line, message });
}

/** Finds errors that the parser accepts: nesting that is too deep, aliases to nothing, keys that are not text. */
function checkNodes(document: Document, report: (position: number, message: string) => void): void {
  const anchors = new Set<string>();
  visit(document, {
    Node(_key, node, ancestors) {
      const position = node.range?.[0] ?? 0;
      if (isAlias(node)) {
        if (!anchors.has(node.source))
          report(position, 'found an alias (*…) to nothing, expected values that begin with * in quotes');
        return undefined;
      }
      if (node.anchor !== undefined) anchors.add(node.anchor);
      if (!isScalar(node) && ancestors.filter(isCollection).length >= DEPTH_MAX) {
        report(position, TOO_DEEP);
        return visit.BREAK;
      }
      return undefined;
    },
    Pair(_key, pair) {
      const key = pair.key as Node;
      if (!isScalar(key)) report(key.range?.[0] ?? 0, 'found a key that is not text');
    },
  });
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function restoreScalars(document: Document): void {
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === 'string') node.value = restorePlaceholders(node.value);
      if (typeof node.value !== 'number' || node.source === undefined) return;
      const exact = !/^-?\d+$/.test(node.source) || Number.isSafeInteger(node.value);
      if (!JSON_NUMBER.test(node.source) || !exact) node.value = node.source;
    },
  });
}

/**
 * A ReferenceError means here that aliases expand to too much, because `checkNodes` has already found that all of them
 * can be resolved.
 */
function toPlain(document: Document): Result<unknown, ReferenceError> {
  try {
    return ok(document.toJS({ maxAliasCount: ALIASES_MAX }));
  } catch (error) {
    if (error instanceof ReferenceError) return err(error);
    throw error;
  }
}

function lineOf(document: Document, lines: LineCounter, path: readonly PathSegment[]): number | null {
  let at: Node | null | undefined = document.contents;
  let position = at?.range?.[0];
  for (const segment of path) {
    if (isAlias(at)) at = at.resolve(document);
    if (isMap(at)) {
      const pair = memberPair(at, String(segment), document);
      if (!pair || !isScalar(pair.key)) break;
      position = pair.key.range?.[0] ?? position;
      at = pair.value as Node | null;
    } else if (isSeq(at)) {
      at = at.items[Number(segment)] as Node | undefined;
      if (!at) break;
      position = at.range?.[0] ?? position;
    } else break;
  }
  return position === undefined ? null : lines.linePos(position).line;
}

// Merge keys: `<<: *name` gives a map the members of another one, for streams or sources that have much in common. Its own members win.

/** How many maps may be merged into one, with those that are merged into them. */
const MERGED_MAX = 100;

const WRONG_SOURCE =
  'found << with another value than named values, expected the alias of some (<<: *name), or a list of such aliases';
const TOO_MANY = `found << that merges more than ${MERGED_MAX} maps, or a map into itself, expected the values themselves`;

/** True for a merge key. The parser gives it a value that no text has. */
const isMergeKey = (key: unknown): boolean => isScalar(key) && typeof key.value === 'symbol';

/** The maps that are merged into a map, the first of them before the others; null for a value that is no map. */
function sourcesOf(map: YAMLMap, document: Document): (YAMLMap | null)[] {
  const resolved = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
  return map.items.flatMap(({ key, value }) => {
    if (!isMergeKey(key)) return [];
    const source = resolved(value);
    return (isSeq(source) ? source.items.map(resolved) : [source]).map((one) => (isMap(one) ? one : null));
  });
}

/** The member of a map with this name: its own, or the one that is merged into it. */
function memberPair(map: YAMLMap, name: string, document: Document): Pair | undefined {
  const own = map.items.find(({ key }) => isScalar(key) && !isMergeKey(key) && String(key.value) === name);
  if (own !== undefined) return own;
  for (const source of sourcesOf(map, document)) {
    const found = source === null ? undefined : memberPair(source, name, document);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds merge keys that cannot be resolved. Aliases to nothing were found before. */
function checkMerges(document: Document, report: (position: number, message: string) => void): void {
  const counts = new Map<YAMLMap, number>();
  /** Counts the maps that are merged into a map. One that is merged into itself has no end. */
  const countMerged = (map: YAMLMap): number => {
    const known = counts.get(map);
    if (known !== undefined) return known;
    counts.set(map, Number.POSITIVE_INFINITY);
    const sources = sourcesOf(map, document);
    const count = sources.reduce((sum, source) => sum + (source === null ? 0 : 1 + countMerged(source)), 0);
    counts.set(map, count);
    return count;
  };
  visit(document, {
    Map(_key, map) {
      const merge = map.items.find((pair) => isPair(pair) && isMergeKey(pair.key));
      if (merge === undefined) return;
      const position = (merge.key as Node).range?.[0] ?? 0;
      if (sourcesOf(map, document).includes(null)) report(position, WRONG_SOURCE);
      else if (countMerged(map) > MERGED_MAX) report(position, TOO_MANY);
    },
  });
}
