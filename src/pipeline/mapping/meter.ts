import type { ASTNode } from '@marcbachmann/cel-js';
import { MappingError } from './mapping-error.ts';

/** The steps for all expressions of one row, about a tenth of a second. */
export const ROW_STEPS_MAX = 20_000_000;
/**
 * The steps that each further expression gets when the row's steps are used up. So only the costly expressions are
 * reported, and not all expressions after them.
 */
const REMAINDER_STEPS = 100_000;

/** The steps of a call, an operator, or a column access. */
const OPERATION_STEPS = 16;
/** The steps of an element of a list or a member of an object. */
const ELEMENT_STEPS = 64;

/**
 * Counts the work of expressions in steps, so that no value can block the daemon. A step takes some nanoseconds. With a
 * limit in time, the same row could be quarantined on a busy machine and mapped on an idle one.
 */
export function createMeter() {
  let rowLeft = ROW_STEPS_MAX;
  let left = ROW_STEPS_MAX;
  let exceeded: MappingError | null = null;

  /** Counts steps. Call it before work that may take long. */
  function spend(steps: number): void {
    left -= steps;
    if (left < 0) throw (exceeded ??= costly());
  }

  function assertWithin(): void {
    if (exceeded !== null) throw exceeded;
  }

  /** Counts the whole content of a value, repeated parts included: a comparison may read all of it. */
  function weigh(value: unknown): void {
    const open = [value];
    while (open.length > 0) {
      const next = open.pop();
      spend(OPERATION_STEPS);
      if (typeof next === 'string') spend(next.length);
      else if (ArrayBuffer.isView(next)) spend(next.byteLength);
      else if (typeof next === 'object' && next !== null) {
        const members: readonly unknown[] = Array.isArray(next)
          ? next
          : next instanceof Map
            ? [...next].flat()
            : Object.entries(next).flat();
        spend(members.length * ELEMENT_STEPS);
        for (const member of members) open.push(member);
      }
    }
  }

  return {
    spend,
    weigh,
    /** Resets the count for the next row. */
    startRow() {
      rowLeft = ROW_STEPS_MAX;
    },
    /**
     * Runs one evaluation.
     *
     * @throws MappingError `expression.costly` if it takes more steps than are left for the row
     */
    run(evaluate: () => unknown): unknown {
      const given = Math.max(rowLeft, REMAINDER_STEPS);
      left = given;
      exceeded = null;
      try {
        const value = evaluate();
        weigh(value);
        return value;
      } finally {
        rowLeft -= given - left;
        // The operators `all`, `exists`, `&&` and `||` continue after an error and may hide it, so the limit is checked
        // again here.
        assertWithin();
      }
    },
  };
}

export type Meter = ReturnType<typeof createMeter>;

function costly(): MappingError {
  return new MappingError(
    'expression.costly',
    `The values of the row are so long that its expressions would take more than ${ROW_STEPS_MAX.toLocaleString('en-US')} steps.`,
    'Shorten the value in the source, use only a part of it with substring(), or write the mapping as a TypeScript module.',
  );
}

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
