import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { err, ok, type Result } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/json.ts';
import { dateFormatProblem } from '../functions/date.ts';
import { isDecimalMark } from '../functions/decimal.ts';
import { BOUNDED, BOUNDED_METHODS, compileLinearPattern, type LinearPattern } from '../functions/text.ts';
import type { FoundValue, LookupTables } from '../lookups.ts';
import type { ExpressionProblem } from '../mapping-error.ts';
import { type Meter, meterExpression } from '../meter.ts';
import { keyText, rounded, shown } from '../values.ts';
import { describeCompileError } from './describe-compile-error.ts';

/** A compiled expression. */
export interface Expression {
  /** The text of the expression, without white space around it. */
  text: string;
  /** The columns that the expression names, in order of appearance, for messages. */
  columns: readonly string[];
  /** True if the expression uses the whole row, or a column whose name it computes. */
  usesRow: boolean;
  /** The members of `item` that the expression names. */
  members: readonly string[];
  /** True if the expression reads a lookup table, so that its result does not depend on the row alone. */
  looksUp: boolean;
  /** The columns and members among them that are more than keys of lookup tables. */
  beyondKeys: { columns: ReadonlySet<string>; members: ReadonlySet<string> };
  /** The values that the expression finds in lookup tables. */
  lookedUp(scope: Scope): FoundValue[];
  /** True if the expression calculates, so that its results are rounded. */
  calculates: boolean;
  /** The static type in CEL's words; `dyn` if it depends on the row. */
  type: string;
  /** @throws MappingError (`expression.costly` for a row that would take too long) or an error of the CEL library; `describeFailure` turns either into an issue. */
  evaluate(scope: Scope): unknown;
}

/** The tables and patterns to which expressions refer. They have to be loaded before the expressions are evaluated. */
export interface Findings {
  /** Names of lookup tables and files, as written, each with the first place in the config that has it. */
  lookups: Map<string, string>;
  patterns: Map<string, LinearPattern>;
}

const LENGTH_MAX = 4000;
const ARITHMETIC = new Set(['+', '-', '*', '/', '%']);
const LOOPS = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
const LOOKUPS = new Set(['lookup', 'lookup_all']);
const LOOP_DEPTH_MAX = 2;
const BIND_DEPTH_MAX = 4;

/**
 * Parses and checks an expression. Reports all problems with its literals at once.
 *
 * @param path the place of the expression in the config
 */
export function compileExpression(
  environment: Environment,
  source: string,
  { findings, meter, trace, path }: { findings: Findings; meter: Meter; trace: LookupTables['trace']; path: string },
): Result<Expression, ExpressionProblem[]> {
  const text = source.trim();
  if (text.length > LENGTH_MAX) {
    return err([{ message: `The expression is ${text.length} characters long; at most ${LENGTH_MAX} are allowed.` }]);
  }
  if (!text.isWellFormed()) return err([{ message: 'The expression has half a character (a lone surrogate).' }]);
  try {
    const parsed = environment.parse(text);
    const survey = createSurvey(findings, path, (text) => environment.parse(text).ast);
    survey.visit(parsed.ast, 0, 0);
    if (survey.problems.length > 0) return err(survey.problems);
    const checked = parsed.check();
    if (!checked.valid) return err([describeCompileError(environment, text, checked.error)]);
    meterExpression(parsed.ast, meter);
    const looksUp = survey.looksUp();
    const evaluate = ({ variables }: Scope): unknown => meter.run(() => parsed(variables));
    return ok({
      text,
      columns: [...survey.named.row],
      usesRow: survey.usesRow(),
      members: [...survey.named.item],
      looksUp,
      beyondKeys: { columns: survey.beyondKeys.row, members: survey.beyondKeys.item },
      lookedUp: (scope) => (looksUp ? trace(() => evaluate(scope)) : []),
      calculates: survey.calculates(),
      type: checked.type ?? 'dyn',
      evaluate,
    });
  } catch (error) {
    return err([describeCompileError(environment, text, error)]);
  }
}

/**
 * Walks the syntax tree before it is checked. Collects columns and lookup files, checks literal arguments and compiles
 * patterns. It also rewrites two things. Functions that could take too long are replaced by functions of this program.
 * A literal `null` in a ternary becomes `dyn(null)`: CEL wants both branches to have one type, but people write `x ==
 * "" ? null : "A"`.
 */
function createSurvey(findings: Findings, path: string, parse: (text: string) => ASTNode) {
  const named = { row: new Set<string>(), item: new Set<string>() };
  const beyondKeys = { row: new Set<string>(), item: new Set<string>() };
  const problems: ExpressionProblem[] = [];
  /** The places in which `row` is followed by the name of a column. */
  const ofColumns = new WeakSet<ASTNode>();
  let calculates = false;
  let looksUp = false;
  let usesRow = false;

  function report(node: ASTNode, message: string, cure?: string): void {
    problems.push({ message, position: node.pos + 1, ...(cure === undefined ? {} : { cure }) });
  }

  function checkCall(name: string, args: ASTNode[], node: ASTNode): void {
    const literal = args.map((arg) => (arg.op === 'value' && typeof arg.args === 'string' ? arg.args : undefined));
    if (LOOKUPS.has(name) && args.length >= 2) {
      looksUp = true;
      if (literal[0] === undefined)
        report(node, `The first argument of ${name}() is the name of a lookup table or file, as a literal text.`);
      else if (!findings.lookups.has(literal[0])) findings.lookups.set(literal[0], path);
    }
    if (name === 'decimal' && args.length === 2 && !isDecimalMark(literal[1])) {
      report(node, 'The second argument of decimal() is the decimal mark: "," or ".".');
    }
    if (name === 'duration' && args.length === 1) {
      const guarded = parse(`${BOUNDED}duration("")`);
      if (guarded.op === 'call') guarded.args[1].splice(0, 1, ...args);
      args.splice(0, 1, guarded);
    }
    if (name === 'date' && args.length === 2) {
      const problem = dateFormatProblem(literal[1]);
      if (problem !== null) report(node, problem);
    }
  }

  function checkPattern(argument: ASTNode | undefined, node: ASTNode): void {
    if (argument?.op !== 'value' || typeof argument.args !== 'string') {
      report(node, 'The pattern of matches() is a literal text.');
      return;
    }
    const compiled = compileLinearPattern(argument.args);
    if (compiled.ok) findings.patterns.set(argument.args, compiled.value);
    else report(node, compiled.error, `Change the pattern "${shown(argument.args)}".`);
  }

  function checkColumn(node: ASTNode, isInKey: boolean): void {
    if (node.op !== '.' && node.op !== '[]' && node.op !== 'in') return;
    const [owner, name] = node.op === 'in' ? [node.args[1], node.args[0]] : node.args;
    if (owner.op !== 'id' || (owner.args !== 'row' && owner.args !== 'item')) return;
    const column = typeof name === 'string' ? name : name.op === 'value' ? name.args : undefined;
    if (typeof column !== 'string') return;
    named[owner.args].add(column);
    ofColumns.add(owner);
    if (!isInKey) beyondKeys[owner.args].add(column);
  }

  function visit(node: ASTNode, loops: number, binds: number, isInKey = false): void {
    checkColumn(node, isInKey);
    if (node.op === 'id' && node.args === 'row' && !ofColumns.has(node)) usesRow = true;
    if (ARITHMETIC.has(node.op)) calculates = true;
    let [loopDepth, bindDepth] = [loops, binds];
    if (node.op === 'call') checkCall(node.args[0], node.args[1], node);
    if (node.op === 'rcall') {
      const [name, , args] = node.args;
      if (name === 'matches') checkPattern(args[0], node);
      if (name === 'json') report(node, 'json() cannot be used in an expression.', USE_MODULE);
      if (BOUNDED_METHODS.has(name)) node.args[0] = `${BOUNDED}${name}`;
      if (LOOPS.has(name) && args.length >= 2) loopDepth += 1;
      if (name === 'bind') bindDepth += 1;
      if (loopDepth > LOOP_DEPTH_MAX) report(node, `Loops are nested more than ${LOOP_DEPTH_MAX} deep.`, USE_MODULE);
      if (bindDepth > BIND_DEPTH_MAX) report(node, `cel.bind is nested more than ${BIND_DEPTH_MAX} deep.`, USE_MODULE);
    }
    if (node.op === '?:') {
      for (const branch of [1, 2] as const) {
        const { op, args } = node.args[branch];
        if (op === 'value' && args === null) node.args[branch] = parse('dyn(null)');
      }
    }
    const lookupKey = node.op === 'call' && LOOKUPS.has(node.args[0]) ? node.args[1][1] : undefined;
    for (const child of childrenOf(node)) visit(child, loopDepth, bindDepth, isInKey || child === lookupKey);
  }

  return {
    named,
    beyondKeys,
    problems,
    visit,
    calculates: () => calculates,
    looksUp: () => looksUp,
    usesRow: () => usesRow,
  };
}

const USE_MODULE = 'Write this mapping as a TypeScript module.';

/** The nodes below a node: `args` holds nodes, texts, and lists of either. */
function childrenOf(node: ASTNode): ASTNode[] {
  const children: ASTNode[] = [];
  const collect = (part: unknown): void => {
    if (Array.isArray(part)) for (const entry of part) collect(entry);
    else if (isNode(part)) children.push(part);
  };
  collect(node.args);
  return children;
}

function isNode(part: unknown): part is ASTNode {
  return typeof part === 'object' && part !== null && 'op' in part && 'args' in part && 'pos' in part;
}

/** Turns the value of an expression into the text of a key or ref. Calculated fractions are rounded. */
export function keyTextOf(expression: Expression): (value: unknown) => string {
  return (value) => keyText(expression.calculates && typeof value === 'number' ? rounded(value) : value);
}

/** The key that an expression computes; null if it computes none for any reason. */
export function readKey(expression: Expression, scope: Scope): string | null {
  try {
    const text = keyTextOf(expression)(expression.evaluate(scope));
    return text === '' ? null : text;
  } catch {
    // Another part reports the failure.
    return null;
  }
}

/** The values that an expression can use: a row, and with `each` one entry of a list of the row. */
export interface Scope {
  row: JsonObject;
  /** Absent without `each`. */
  entry?: { item: unknown; index: number };
  /** The values of the variables, by name. */
  variables: Record<string, unknown>;
}

export function rowScope(row: JsonObject): Scope {
  return { row, variables: { row: readable(row) } };
}

/** The scope of one entry of a list. `index` counts from 0. */
export function entryScope({ row, variables }: Scope, item: unknown, index: number): Scope {
  return {
    row,
    entry: { item, index },
    variables: { ...variables, item: readable(item ?? null), index: BigInt(index) },
  };
}

/**
 * An object with a member named "constructor" becomes a map, because the CEL library would not treat it as a plain
 * object.
 */
function readable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Map) return value;
  return Object.hasOwn(value, 'constructor') ? new Map(Object.entries(value)) : value;
}
