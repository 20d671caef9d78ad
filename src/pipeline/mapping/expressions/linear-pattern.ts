import { messageOf } from '../../../lib/errors.ts';
import { err, ok, type Result } from '../../../lib/result.ts';

/**
 * Regular expressions for `matches`. CEL asks for RE2's, which take time in proportion to the text; JavaScript's own
 * backtrack, and one crafted value could stop the daemon. So patterns are run as a Thompson automaton: all states at
 * once, one character at a time. Without captures that is short. Source: Cox, "Regular Expression Matching Can Be Simple
 * And Fast", 2007.
 *
 * Understood: literals, `.`, classes and escapes as JavaScript has them under the `u` flag, groups, `|`, `* + ? {n,m}`
 * (lazy forms too, which make no difference here), `^` and `$` for the ends of the text. Not understood, as in RE2: back
 * references and look-around; nor `\b`.
 *
 * @param spend gets the number of steps before they are taken, and may throw: each character may take as many steps as the
 *   pattern has states
 */
export type LinearPattern = (text: string, spend: (steps: number) => void) => boolean;

const PATTERN_LENGTH_MAX = 500;
const REPEAT_MAX = 200;
const STATES_MAX = 2000;
const DEPTH_MAX = 30;

type Test = (codePoint: string) => boolean;

type Node =
  | { kind: 'one'; test: Test }
  | { kind: 'edge'; edge: 'start' | 'end' }
  | { kind: 'sequence'; parts: Node[] }
  | { kind: 'choice'; parts: Node[] }
  | { kind: 'repeat'; part: Node; min: number; max: number };

type State =
  | { kind: 'one'; test: Test; next: number }
  | { kind: 'edge'; edge: 'start' | 'end'; next: number }
  | { kind: 'fork'; next: number[] }
  | { kind: 'match' };

/** Compiles a pattern; the error is a full sentence. */
export function compileLinearPattern(pattern: string): Result<LinearPattern, string> {
  if (pattern.length > PATTERN_LENGTH_MAX) {
    return err(`The pattern is ${pattern.length} characters long; at most ${PATTERN_LENGTH_MAX} are allowed.`);
  }
  try {
    const states: State[] = [{ kind: 'match' }];
    const start = build(new Reader(pattern).read(), 0, states);
    return ok((text, spend) => run(states, start, { text, spend }));
  } catch (error) {
    if (error instanceof PatternError) return err(error.message);
    return err(`The pattern cannot be read: ${messageOf(error)}.`);
  }
}

class PatternError extends Error {}

/** Recursive descent over the pattern. Single-character tests are left to the engine's own classes. */
class Reader {
  private readonly pattern: string;
  private at = 0;
  private depth = 0;

  constructor(pattern: string) {
    this.pattern = pattern;
  }

  read(): Node {
    const node = this.choice();
    if (this.at < this.pattern.length) throw new PatternError(`The pattern has a ")" too many at ${this.at + 1}.`);
    return node;
  }

  private choice(): Node {
    const parts = [this.sequence()];
    while (this.take('|')) parts.push(this.sequence());
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'choice', parts };
  }

  private sequence(): Node {
    const parts: Node[] = [];
    while (this.at < this.pattern.length && !this.ahead('|') && !this.ahead(')')) parts.push(this.repeat(this.atom()));
    return { kind: 'sequence', parts };
  }

  private repeat(part: Node): Node {
    const match = /^(?:([*+?])|\{(\d{1,4})(,(\d{1,4})?)?\})\??/.exec(this.pattern.slice(this.at));
    if (!match) return part;
    this.at += match[0].length;
    const [, sign, least = '0', comma, most] = match;
    if (sign !== undefined)
      return { kind: 'repeat', part, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    const min = Number(least);
    const max = comma === undefined ? min : most === undefined ? Infinity : Number(most);
    if (min > max)
      throw new PatternError(`The pattern repeats from ${min} to ${max} times, which is the wrong way round.`);
    if (min > REPEAT_MAX || (max !== Infinity && max > REPEAT_MAX)) {
      throw new PatternError(`The pattern repeats a part more than ${REPEAT_MAX} times.`);
    }
    return { kind: 'repeat', part, min, max };
  }

  private atom(): Node {
    if (this.take('^')) return { kind: 'edge', edge: 'start' };
    if (this.take('$')) return { kind: 'edge', edge: 'end' };
    if (this.ahead('(')) return this.group();
    const rest = this.pattern.slice(this.at);
    const match =
      /^(?:\[(?:\\.|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\u[\da-fA-F]{4}|\\x[\da-fA-F]{2}|\\.|.)/su.exec(rest);
    const token = match?.[0] ?? '';
    if (/^\\[bBk1-9]/.test(token)) {
      throw new PatternError(`The pattern uses "${token}": back references and word borders are not supported.`);
    }
    this.at += token.length;
    return { kind: 'one', test: testOf(token) };
  }

  private group(): Node {
    const opening = /^\((?:\?:)?/.exec(this.pattern.slice(this.at))?.[0] ?? '(';
    this.at += opening.length;
    if (opening === '(' && this.ahead('?')) {
      throw new PatternError('The pattern uses "(?": look-around and named groups are not supported.');
    }
    this.depth += 1;
    if (this.depth > DEPTH_MAX) throw new PatternError(`The pattern is nested more than ${DEPTH_MAX} levels deep.`);
    const node = this.choice();
    this.depth -= 1;
    if (!this.take(')')) throw new PatternError('The pattern has a "(" that is never closed.');
    return node;
  }

  private ahead(character: string): boolean {
    return this.pattern[this.at] === character;
  }

  private take(character: string): boolean {
    if (!this.ahead(character)) return false;
    this.at += 1;
    return true;
  }
}

function testOf(token: string): Test {
  if (token.length === 1 && /[*+?{}[\]\\]/.test(token)) {
    throw new PatternError(
      `The pattern has a "${token}" that belongs to nothing; to match the character, write "\\${token}".`,
    );
  }
  if (!token.startsWith('[') && !token.startsWith('\\') && token !== '.') return (codePoint) => codePoint === token;
  // RE2 and CEL let the dot match everything but a line feed; JavaScript leaves out three more.
  if (token === '.') return (codePoint) => codePoint !== '\n';
  const single = new RegExp(`^${token}$`, 'u');
  return (codePoint) => single.test(codePoint);
}

/** Adds the states of a node that continues at `next`, and returns where it begins. */
function build(node: Node, next: number, states: State[]): number {
  switch (node.kind) {
    case 'one':
      return add({ kind: 'one', test: node.test, next }, states);
    case 'edge':
      return add({ kind: 'edge', edge: node.edge, next }, states);
    case 'sequence':
      return node.parts.reduceRight((after, part) => build(part, after, states), next);
    case 'choice':
      return add({ kind: 'fork', next: node.parts.map((part) => build(part, next, states)) }, states);
    case 'repeat':
      return buildRepeat(node, next, states);
  }
}

function buildRepeat(node: Extract<Node, { kind: 'repeat' }>, next: number, states: State[]): number {
  let start = next;
  if (node.max === Infinity) {
    const fork: Extract<State, { kind: 'fork' }> = { kind: 'fork', next: [next] };
    start = add(fork, states);
    fork.next.push(build(node.part, start, states));
  } else {
    for (let extra = node.min; extra < node.max; extra++) {
      start = add({ kind: 'fork', next: [build(node.part, start, states), next] }, states);
    }
  }
  for (let copy = 0; copy < node.min; copy++) {
    const before = states.length;
    start = build(node.part, start, states);
    // A part without states can be repeated for ever at no gain.
    if (states.length === before) break;
  }
  return start;
}

function add(state: State, states: State[]): number {
  if (states.length >= STATES_MAX) throw new PatternError('The pattern is too large; repeat fewer parts.');
  return states.push(state) - 1;
}

/** What one state takes for one character, in the steps of the meter: two sets of numbers are looked at and changed. */
const STATE_STEPS = 32;

function run(
  states: readonly State[],
  start: number,
  { text, spend }: { text: string; spend: (steps: number) => void },
): boolean {
  let current = new Set<number>();
  let at = 0;
  for (const codePoint of text) {
    if (follow(start, current, states, at, text.length)) return true;
    spend((current.size + 1) * STATE_STEPS);
    const next = new Set<number>();
    at += codePoint.length;
    for (const index of current) {
      const state = states[index];
      if (state?.kind !== 'one' || !state.test(codePoint)) continue;
      if (follow(state.next, next, states, at, text.length)) return true;
    }
    current = next;
  }
  return follow(start, current, states, at, text.length);
}

/** Adds all states that are reached from one without reading a character; true when the match is among them. */
function follow(from: number, into: Set<number>, states: readonly State[], at: number, end: number): boolean {
  const open = [from];
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    if (into.has(index)) continue;
    into.add(index);
    const state = states[index];
    if (state?.kind === 'match') return true;
    if (state?.kind === 'fork') open.push(...state.next);
    if (state?.kind === 'edge' && (state.edge === 'start' ? at === 0 : at === end)) open.push(state.next);
  }
  return false;
}
