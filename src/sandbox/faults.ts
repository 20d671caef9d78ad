import { z } from 'zod';
import { OPERATION_NAMES, type OperationName } from './endpoints.ts';

const WHERE = {
  operation: z
    .enum([...OPERATION_NAMES, '*'])
    .describe('The operation that goes wrong, as `product.create`, or `*` for every one.'),
  count: z.int().min(1).optional().describe('How often the rule applies before it is used up; without it, always.'),
  match: z.string().min(1).optional().describe('Applies only to requests whose body contains this text.'),
};

/** One thing that goes wrong on purpose. */
export const FaultRule = z.discriminatedUnion('kind', [
  z
    .strictObject({
      ...WHERE,
      kind: z.literal('status'),
      status: z.int().min(400).max(599).describe('The HTTP status to answer.'),
    })
    .describe('Answers with a status and has no effect, like a proxy in front of the platform.'),
  z
    .strictObject({ ...WHERE, kind: z.literal('reset-before') })
    .describe('Resets the connection before anything was done.'),
  z
    .strictObject({ ...WHERE, kind: z.literal('reset-after') })
    .describe('Resets the connection when the effect is committed, in place of the answer.'),
  z
    .strictObject({
      ...WHERE,
      kind: z.literal('latency'),
      ms: z.int().min(0).max(3_600_000).describe('How long the request lies before it is worked on, in milliseconds.'),
    })
    .describe('Delays the request. The effect happens afterwards, even if the client has hung up by then.'),
]);
export type FaultRule = z.infer<typeof FaultRule>;

/** A rule and how often it was used. */
export interface FaultUse {
  rule: FaultRule;
  used: number;
}

/** What the rules have in store for one request: at most one delay and at most one outcome. */
export interface FaultPlan {
  latencyMs: number;
  outcome: Exclude<FaultRule, { kind: 'latency' }> | null;
}

/** The sandbox's faults, to be changed while it runs. */
export interface Faults {
  /** Appends a rule. Of several that fit a request, the first that is not used up applies. */
  add(rule: FaultRule): void;
  /** Drops every rule, used or not. */
  clear(): void;
  /** Every rule in the order it was added. */
  list(): FaultUse[];
  /** Chooses for one request, and counts the rules that it chose as used. */
  take(operation: OperationName, body: string): FaultPlan;
}

export function createFaults(initial: FaultRule[]): Faults {
  let uses: FaultUse[] = initial.map((rule) => ({ rule, used: 0 }));
  return {
    add(rule) {
      uses.push({ rule: FaultRule.parse(rule), used: 0 });
    },
    clear() {
      uses = [];
    },
    list: () => uses.map(({ rule, used }) => ({ rule: { ...rule }, used })),
    take(operation, body) {
      const plan: FaultPlan = { latencyMs: 0, outcome: null };
      let delayed = false;
      for (const use of uses) {
        const { rule } = use;
        if (rule.kind === 'latency' ? delayed : plan.outcome !== null) continue;
        if (!applies(use, operation, body)) continue;
        use.used += 1;
        if (rule.kind === 'latency') {
          delayed = true;
          plan.latencyMs = rule.ms;
        } else {
          plan.outcome = rule;
        }
      }
      return plan;
    },
  };
}

function applies({ rule, used }: FaultUse, operation: OperationName, body: string): boolean {
  if (rule.operation !== '*' && rule.operation !== operation) return false;
  if (rule.count !== undefined && used >= rule.count) return false;
  return rule.match === undefined || body.includes(rule.match);
}
