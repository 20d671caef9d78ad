import { TypeError as CelTypeError, type Environment, EvaluationError, ParseError } from '@marcbachmann/cel-js';
import { messageOf } from '../../../lib/errors.ts';
import { suggest } from '../../../lib/text/suggest.ts';
import { BOUNDED } from '../functions/text.ts';
import { describeTypes } from './describe-types.ts';
import type { ExpressionProblem } from './expression-problem.ts';

const ODD_NAME = 'A column whose name has blanks, dashes or letters with accents is written row["…"].';

/** Rewords an error of the CEL library for the person who has written the mapping. */
export function describeCompileError(environment: Environment, error: unknown): ExpressionProblem {
  if (!isCelError(error)) return { message: `The expression cannot be compiled: ${messageOf(error)}.` };
  const position = error.range === undefined ? {} : { position: error.range.start + 1 };
  return { ...describe(environment, error.code, error.summary), ...position };
}

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
      return describeCall(environment, summary);
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
    default:
      return { message: `${summary}.` };
  }
}

function describeCall(environment: Environment, summary: string): ExpressionProblem {
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
