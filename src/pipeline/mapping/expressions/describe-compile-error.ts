import { TypeError as CelTypeError, type Environment, EvaluationError, ParseError } from '@marcbachmann/cel-js';
import { messageOf } from '../../../lib/errors.ts';
import { suggest } from '../../../lib/text/suggest.ts';
import { BOUNDED } from '../functions/text.ts';
import type { ExpressionProblem } from '../mapping-error.ts';

const ODD_NAME = 'A column whose name has blanks, dashes or letters with accents is written row["…"].';

/** Rewords an error of the CEL library for the person who has written the mapping. */
export function describeCompileError(environment: Environment, text: string, error: unknown): ExpressionProblem {
  if (!isCelError(error)) return { message: `The expression cannot be compiled: ${messageOf(error)}.` };
  if (error.range === undefined) return describe(environment, error.code, error.summary);
  const { start } = error.range;
  const there = error.code === 'unexpected_character' ? describeUnexpected(text.slice(start)) : null;
  return { ...(there ?? describe(environment, error.code, error.summary)), position: start + 1 };
}

/** Words and characters that people write where CEL has others. */
function describeUnexpected(rest: string): ExpressionProblem | null {
  if (/^[“”„«»‘’]/u.test(rest))
    return {
      message: `Unexpected character: ${rest.charAt(0)}.`,
      cure: 'Write a fixed text in straight quotes: "kg".',
    };
  const word = /^[A-Za-z_]\w*/.exec(rest)?.[0];
  if (word === undefined) return null;
  const cure = OPERATORS.get(word.toLowerCase()) ?? ODD_NAME;
  return { message: `The word "${word}" is not expected here.`, cure };
}

const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['and', 'Conditions are joined with &&.'],
  ['or', 'Alternatives are joined with ||.'],
  ['is', 'Equality is written ==.'],
  ['eq', 'Equality is written ==.'],
  ['like', 'Write row.X.contains("a"), row.X.startsWith("a") or row.X.matches("^a").'],
]);

/** True for the three kinds of error of the CEL library, which share `code`, `summary`, `node` and `range`. */
export function isCelError(error: unknown): error is EvaluationError | ParseError | CelTypeError {
  return error instanceof EvaluationError || error instanceof ParseError || error instanceof CelTypeError;
}

function describe(environment: Environment, code: string, summary: string): ExpressionProblem {
  switch (code) {
    case 'unknown_variable': {
      const name = summary.slice(summary.lastIndexOf(' ') + 1);
      const cure = `Write row.${name} for a column, or "${name}" in double quotes for a fixed text. ${ODD_NAME}`;
      return { message: `"${name}" is not known; the only variable is row.`, cure };
    }
    case 'no_matching_overload':
      return describeUnknownCall(environment, summary);
    case 'no_such_overload':
    case 'invalid_logical_operand':
    case 'invalid_condition_type':
      return describeTypes(summary);
    case 'incompatible_ternary_branches':
      return { message: `${summary}.`, cure: 'Wrap one of them in dyn(…).' };
    case 'unexpected_character': {
      const cure = summary.includes('=') ? 'Equality is written ==.' : ODD_NAME;
      return { message: `${summary}.`, cure };
    }
    case 'limit_exceeded':
      return {
        message: `The expression is too large: ${summary}.`,
        cure: 'Write this mapping as a TypeScript module.',
      };
    case 'unexpected_token':
    case 'expected_token':
      return { message: `The expression is incomplete or has a syntax error: ${summary}.`, cure: ODD_NAME };
    default: {
      const word = /^Reserved identifier: (\w+)$/.exec(summary)?.[1] ?? '';
      const cure = IN_OTHER_LANGUAGES.get(word);
      return { message: `${summary}.`, ...(cure === undefined ? {} : { cure }) };
    }
  }
}

function describeUnknownCall(environment: Environment, summary: string): ExpressionProblem {
  const { functions } = environment.getDefinitions();
  const match = /'(?:(.+)\.)?(\w+)\(/.exec(summary);
  const name = match?.[2] ?? '';
  const namesakes = functions.filter((known) => known.name === name);
  if (namesakes.length > 0) return describeTypes(summary);
  const known = functions.filter((one) => !one.name.startsWith(BOUNDED));
  const near = suggest(name, new Set(known.map((one) => one.name)));
  const cure = IN_OTHER_LANGUAGES.get(name.toLowerCase()) ?? (near === undefined ? null : `Did you mean ${near}()?`);
  return { message: `There is no function ${name}().`, cure: cure ?? listFunctions(known, match?.[1] !== undefined) };
}

const SUBSTITUTED = 'Write row.X.split("a").join("b"), which writes "b" for each "a".';
const UPPER = 'Write row.X.upperAscii().';
const LOWER = 'Write row.X.lowerAscii().';
const SIZE = 'Write size(row.X).';
const CUT = 'Write row.X.substring(0, 4).';
const NUMBER = 'Write decimal(row.X) for a field, and double(decimal(row.X)) to calculate.';

/** How to write an expression for which other languages have a function. */
const IN_OTHER_LANGUAGES: ReadonlyMap<string, string> = new Map([
  ['replace', SUBSTITUTED],
  ['replaceall', SUBSTITUTED],
  ['substitute', SUBSTITUTED],
  ['upper', UPPER],
  ['toupper', UPPER],
  ['touppercase', UPPER],
  ['lower', LOWER],
  ['tolower', LOWER],
  ['tolowercase', LOWER],
  ['length', SIZE],
  ['len', SIZE],
  ['substr', CUT],
  ['slice', CUT],
  ['left', CUT],
  ['number', NUMBER],
  ['float', NUMBER],
  ['parsefloat', NUMBER],
  ['concat', 'Texts are joined with +.'],
  ['if', 'Write a condition as row.X == "" ? null : row.X.'],
]);

interface KnownFunction {
  name: string;
  receiverType: string | null;
}

/** Names the functions that an expression can call in the same form: of a value, or with it as an argument. */
function listFunctions(known: readonly KnownFunction[], isMethod: boolean): string {
  const named = (isAsked: (receiver: string | null) => boolean) =>
    [...new Set(known.filter(({ receiverType }) => isAsked(receiverType)).map(({ name }) => name))]
      .toSorted()
      .join(', ');
  const where = 'docs/mapping-reference.md describes them.';
  if (!isMethod) return `The functions are ${named((receiver) => receiver === null)}. ${where}`;
  const ofList = named((receiver) => receiver?.startsWith('list<') === true);
  return `A text has ${named((receiver) => receiver === 'string')}, and a list ${ofList}. ${where}`;
}

const WORDS: Record<string, string> = {
  string: 'text',
  int: 'number',
  double: 'number',
  uint: 'number',
  bool: 'true/false',
  list: 'list',
  map: 'object',
  bytes: 'bytes',
  null: 'null',
  dyn: 'any value',
};

/** Rewords the CEL library's messages about types, such as `no such overload: dyn<string> > int`. */
export function describeTypes(summary: string): ExpressionProblem {
  const call = /^found no matching overload for '(?:(.+)\.)?(\w+)\((.*)\)'$/.exec(summary);
  if (call) return describeCall(call[1], call[2] ?? '', call[3] ?? '');
  const binary = /^no such overload: (\S.*?) ([-+*/%<>=!]+|in) (.+)$/.exec(summary);
  if (binary) return describeOperator(wordOf(binary[1] ?? ''), binary[2] ?? '', wordOf(binary[3] ?? ''));
  const unary = /^no such overload: ([-!])(.+)$/.exec(summary);
  if (unary) return { message: `${unary[1]} cannot be applied to ${wordOf(unary[2] ?? '')}.` };
  const operand = /, got '(.+)'$/.exec(summary);
  if (operand) {
    const message = `A condition must be true or false, but this is ${wordOf(operand[1] ?? '')}.`;
    return { message, cure: 'Write a comparison, for example row.FLAG == "X".' };
  }
  return { message: `${summary}.` };
}

function describeOperator(left: string, operator: string, right: string): ExpressionProblem {
  const message = `${operator} cannot be applied to ${left} and ${right}.`;
  if (left === 'null' || right === 'null') {
    return { message, cure: 'Give a fallback for empty values, for example row.X == null ? "" : row.X.' };
  }
  if (operator === '+' && [left, right].includes('true/false')) {
    return { message, cure: 'Write a text in its place, for example row.X ? "yes" : "no".' };
  }
  if (left === 'text' || right === 'text') {
    return { message, cure: 'Convert the text to a number first: double(row.X), or double(decimal(row.X, ",")).' };
  }
  return { message };
}

function describeCall(receiver: string | undefined, name: string, args: string): ExpressionProblem {
  const given = args === '' ? 'nothing' : args.split(', ').map(wordOf).join(', ');
  const owner = receiver === undefined ? '' : ` of ${wordOf(receiver)}`;
  const method = name.replace(BOUNDED, '');
  return { message: `${method}()${owner} cannot be called with ${given}.` };
}

/** The plain word for a type: "text" for `dyn<string>`, "a list" for `list<dyn>`. */
export function wordOf(type: string): string {
  const inner = /^dyn<(.+)>$/.exec(type)?.[1] ?? type;
  const name = inner.replace(/<.*$/, '');
  return WORDS[name] ?? name;
}
