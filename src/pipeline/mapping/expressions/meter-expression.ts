import type { ASTNode } from '@marcbachmann/cel-js';
import { ELEMENT_STEPS, type Meter, OPERATION_STEPS } from './meter.ts';

/**
 * Parts of a node that the library's types do not show: the function that evaluates it, and the result of expanding a
 * macro such as `map` or `cel.bind`. The library's version is pinned, and `mapping-costs.test.ts` fails when these
 * parts change.
 */
interface Inside {
  op: string;
  args: unknown;
  meta: { evaluate: Evaluate; alternate?: Inside; macro?: object };
  setMeta(name: 'evaluate', value: Evaluate): void;
}
type Evaluate = (this: unknown, evaluator: unknown, node: unknown, context: unknown) => unknown;

/** How much of a value an operation may read. */
type Reach = 'text' | 'members' | 'everything';

/** Nodes whose value needs no count: it was counted already, or it is the unfinished list of a loop. */
const PASSING_ON = new Set(['?:', 'accuPush', 'accuValue', 'accuInc']);
const COMPARISONS = new Set(['==', '!=', 'in']);
/** Reading a time in a time zone makes a formatter each time, which takes about 50 µs. */
const ZONED_CLOCK_STEPS = 50_000;

/**
 * Makes every part of a checked expression count its steps and the length of its value. The work of a function or
 * operator is then proportional to the count. Functions for which that is not true are replaced by functions of this
 * program, which count their own steps.
 */
export function meterExpression(root: ASTNode, meter: Meter): void {
  const seen = new Set<unknown>();

  function visitAll(part: unknown, reach: Reach): void {
    if (Array.isArray(part)) for (const entry of part) visitAll(entry, reach);
    else if (isNode(part, root)) visit(part, reach);
    else if (isPlain(part)) for (const member of Object.values(part)) visitAll(member, reach);
  }

  function visit(node: Inside, reach: Reach): void {
    if (seen.has(node)) return;
    seen.add(node);
    const { alternate, macro, evaluate } = node.meta;
    if (alternate !== undefined) {
      visit(alternate, reach);
      return;
    }
    if (macro !== undefined) {
      for (const member of Object.values(macro)) visitAll(member, reach);
      return;
    }
    const passesOn = PASSING_ON.has(node.op);
    visitAll(node.args, passesOn ? reach : reachInto(node));
    if (node.op === 'value') return;
    const steps = stepsOf(node);
    node.setMeta('evaluate', function metered(evaluator, at, context) {
      meter.spend(steps);
      const value = evaluate.call(this, evaluator, at, context);
      if (!passesOn) count(value, reach);
      return value;
    });
  }

  function count(value: unknown, reach: Reach): void {
    if (typeof value === 'string') meter.spend(value.length);
    else if (Array.isArray(value)) meter.spend(value.length * ELEMENT_STEPS);
    else if (ArrayBuffer.isView(value)) meter.spend(value.byteLength);
    else if (reach === 'members' && typeof value === 'object' && value !== null) {
      meter.spend((value instanceof Map ? value.size : Object.keys(value).length) * ELEMENT_STEPS);
    }
    if (reach === 'everything') meter.weigh(value);
  }

  if (!isNode(root, root))
    throw new Error('The CEL library does not allow dpp-sync to count the steps of its expressions.');
  visit(root, 'text');
}

function reachInto({ op, args }: Inside): Reach {
  if (COMPARISONS.has(op)) return 'everything';
  if (op === 'rcall' && Array.isArray(args) && args[0] === 'join') return 'everything';
  return op === 'call' || op === 'rcall' || op === 'comprehension' ? 'members' : 'text';
}

function stepsOf({ op, args }: Inside): number {
  const isZonedClock = op === 'rcall' && Array.isArray(args) && /^get[A-Z]/.test(String(args[0])) && args[2].length > 0;
  return isZonedClock ? ZONED_CLOCK_STEPS : OPERATION_STEPS;
}

function isNode(part: unknown, root: object): part is Inside {
  return typeof part === 'object' && part !== null && part.constructor === root.constructor && 'meta' in part;
}

function isPlain(part: unknown): part is object {
  return typeof part === 'object' && part !== null && Object.getPrototypeOf(part) === Object.prototype;
}
