import { RE2JS, RE2JSSyntaxException } from 're2js';
import { err, ok, type Result } from '../../../lib/result.ts';

/**
 * A regular expression for `matches`. Returns true if some part of the text matches. CEL prescribes the patterns of
 * RE2, which take time in proportion to the text. The engine of JavaScript backtracks, so one crafted value could stop
 * the daemon.
 *
 * @param spend called with the number of steps before they are taken; it may throw. Each character may take as many
 *   steps as the compiled pattern has instructions
 */
export type LinearPattern = (text: string, spend: (steps: number) => void) => boolean;

const PATTERN_LENGTH_MAX = 500;
/** A short pattern with nested repetitions can compile to a large one. */
const INSTRUCTIONS_MAX = 2000;

/** Compiles a pattern; the error is a full sentence. */
export function compileLinearPattern(pattern: string): Result<LinearPattern, string> {
  if (pattern.length > PATTERN_LENGTH_MAX) {
    return err(`The pattern is ${pattern.length} characters long; at most ${PATTERN_LENGTH_MAX} are allowed.`);
  }
  const compiled = compile(pattern);
  if (!compiled.ok) return compiled;
  const program = compiled.value;
  const instructions = program.programSize();
  if (instructions > INSTRUCTIONS_MAX)
    return err('The pattern is too large. Use fewer repetitions, or check only a part of the text.');
  return ok((text, spend) => {
    spend((text.length + 1) * instructions);
    return program.test(text);
  });
}

function compile(pattern: string): Result<RE2JS, string> {
  try {
    // People write `\u00e4` as in JavaScript. RE2 has `\x{00e4}` for it.
    return ok(RE2JS.compile(RE2JS.translateRegExp(pattern)));
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const part = error.getPattern();
    const at = part === null || part === '' ? '' : ` (${part})`;
    return err(`The pattern cannot be read: ${HINTS[error.getDescription()] ?? error.getDescription()}${at}.`);
  }
}

/** Explanations for messages of the engine that are not clear enough. */
const HINTS: Readonly<Record<string, string>> = {
  'invalid or unsupported Perl syntax': 'look-around and other extensions of Perl are not known',
  'invalid escape sequence': 'an escape that is not known; back references are not known either',
  'missing closing )': 'a group is never closed',
  'unexpected )': 'there is one `)` too many',
  'missing argument to repetition operator': 'a repetition has nothing before it to repeat',
  'invalid repeat count': 'a repetition with a limit that is too high, or whose first limit is above the second',
  'missing closing ]': 'a class is never closed',
};
