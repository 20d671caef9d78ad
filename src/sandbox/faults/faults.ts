import { z } from 'zod';
import { ENDPOINTS, OPERATION_NAMES, type OperationName } from '../api/endpoints.ts';
import type { ListView } from '../api/operation.ts';

const WHERE = {
  operation: z
    .enum([...OPERATION_NAMES, '*'])
    .describe('The operation that fails, such as `product.create`, or `*` for every operation.'),
  skip: z
    .int()
    .min(1)
    .optional()
    .describe('How many matching requests pass before the rule applies for the first time.'),
  count: z
    .int()
    .min(1)
    .optional()
    .describe('How many times the rule applies before it is used up. Without this setting it always applies.'),
  match: z.string().min(1).optional().describe('Applies only to requests whose body contains this text.'),
  probability: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe(
      'The probability with which the rule applies to a matching request. Without this setting it always applies.',
    ),
  seed: z
    .int()
    .min(0)
    .optional()
    .describe('The seed of the random numbers for `probability`. The same seed gives the same run.'),
};

const ms = z.int().min(0).max(3_600_000);
const effect = z
  .enum(['none', 'done'])
  .optional()
  .describe('Whether the request takes effect despite the fault. The default is `none`.');

/** A rule for a fault that the sandbox causes on purpose. */
export const FaultRule = z.discriminatedUnion('kind', [
  z
    .strictObject({
      ...WHERE,
      kind: z.literal('status'),
      status: z.int().min(200).max(599).describe('The HTTP status to answer.'),
      effect,
      body: z.string().min(1).max(2_000).optional().describe('The answer’s body, as plain text in place of JSON.'),
      retryAfterSeconds: z.int().min(0).max(86_400).optional().describe('The value of the header Retry-After.'),
    })
    .refine(({ status, body }) => status >= 400 || body !== undefined, {
      path: ['status'],
      error: 'A status below 400 takes a body.',
    })
    .describe(
      'Answers with a status, as a proxy in front of the platform does, or a platform that fails during the work.',
    ),
  z
    .strictObject({ ...WHERE, kind: z.literal('html'), status: z.int().min(200).max(599), effect })
    .describe('Answers with a page of HTML in place of JSON.'),
  z
    .strictObject({ ...WHERE, kind: z.literal('reset-before') })
    .describe('Resets the connection before anything was done.'),
  z
    .strictObject({ ...WHERE, kind: z.literal('reset-after') })
    .describe('Resets the connection instead of an answer, after the effect was committed.'),
  z
    .strictObject({ ...WHERE, kind: z.literal('truncate') })
    .describe('Takes effect, sends half of the answer’s body and resets the connection.'),
  z
    .strictObject({
      ...WHERE,
      kind: z.literal('slow-body'),
      ms: ms.describe('How long the body takes, in milliseconds.'),
    })
    .describe('Takes effect, and sends the answer’s body in pieces.'),
  z
    .strictObject({ ...WHERE, kind: z.literal('duplicate') })
    .describe('Executes the request twice, and sends the answer of the first execution.'),
  z
    .strictObject({ ...WHERE, kind: z.literal('crossed') })
    .describe(
      'Takes effect, and sends the answer of the last successful request for the same operation, which was about another item.',
    ),
  z
    .strictObject({
      ...WHERE,
      operation: z.literal('product.import').describe('Only the bulk import has rows.'),
      kind: z.literal('partial-import'),
      rows: z.int().min(0).max(100_000).describe('How many rows are stored before the import fails.'),
      ending: z
        .enum(['error', 'reset', 'silence'])
        .optional()
        .describe(
          'How the import ends for the client: with a 500, with a reset of the connection, or without any answer. The default is `error`.',
        ),
    })
    .describe('Stores the first good rows of an import and fails. An import with fewer good rows succeeds.'),
  z
    .strictObject({
      ...WHERE,
      kind: z.literal('outage'),
      ms: ms.describe('How long the outage lasts, from the first request that it hits, in milliseconds.'),
    })
    .describe(
      'Resets every connection for a time, before anything is done. The time begins with the first matching request.',
    ),
  z
    .strictObject({
      ...WHERE,
      kind: z.literal('latency'),
      ms: ms.describe('How long the request waits before the sandbox processes it, in milliseconds.'),
    })
    .describe('Delays the request. The effect happens after the delay, even if the client has closed the connection.'),
  z
    .strictObject({ ...WHERE, kind: z.literal('move') })
    .describe(
      'Moves the first row of a list permanently to its end, after a request for a page of the list was answered.',
    ),
  z.strictObject({ ...WHERE, kind: z.literal('shuffle') }).describe('Gives a list in another order at every request.'),
  z
    .strictObject({
      ...WHERE,
      kind: z.literal('lag'),
      ms: ms.describe('How far the list lags behind the writes, in milliseconds.'),
    })
    .describe('Leaves recently created entries out of a list, as a replica that lags behind does.'),
]);
export type FaultRule = z.infer<typeof FaultRule>;

type ListFaultKind = 'move' | 'shuffle' | 'lag';

/** A rule and how often it was used. */
export interface FaultUse {
  rule: FaultRule;
  used: number;
}

/** The faults for one request: at most one delay, at most one outcome, and changes of a list. */
export interface FaultPlan {
  latencyMs: number;
  outcome: Exclude<FaultRule, { kind: 'latency' | ListFaultKind }> | null;
  view: ListView | null;
  /** The rule of the outcome, which `giveBack` needs. */
  taken: FaultUse | null;
}

/** The plan of a request to which no rule applies. It is shared and never changed. */
const NO_FAULT: Readonly<FaultPlan> = { latencyMs: 0, outcome: null, view: null, taken: null };

interface ActiveRule extends FaultUse {
  /** How many requests have fitted the rule, for `skip`. */
  seen: number;
  /** Returns the next random number from 0 to 1. */
  chance: () => number;
  /** When an outage that has begun will end. */
  until: number | null;
}

/** How many rules are remembered that were removed before they were used. */
const DROPPED_MAX = 1000;

/** The fault rules of the sandbox, which can be changed while it runs. */
export function createFaults(initial: FaultRule[]) {
  let rules: ActiveRule[] = initial.map(activate);
  let dropped: FaultRule[] = [];
  const drop = (unused: FaultUse[]): void => {
    dropped = [...dropped, ...unused.map(({ rule }) => rule)].slice(-DROPPED_MAX);
  };
  return {
    /** Appends a rule. If several rules fit a request, the first rule that is not used up applies. */
    add(rule: FaultRule): void {
      rules.push(activate(FaultRule.parse(rule), rules.length));
    },
    /** Removes all rules. */
    clear(): void {
      drop(rules.filter(({ used }) => used === 0));
      rules = [];
    },
    /** Every rule in the order it was added. */
    list: (): FaultUse[] => rules.map(({ rule, used }) => ({ rule: { ...rule }, used })),
    /**
     * Rules that never applied since the sandbox began, including removed rules. A test that relies on one of them has
     * proved nothing.
     */
    unused: (): FaultRule[] => [...dropped, ...rules.filter(({ used }) => used === 0).map(({ rule }) => ({ ...rule }))],
    /** Chooses the rules for one request, and counts the chosen rules as used. */
    take(request: { operation: OperationName; body: string; now: number }): Readonly<FaultPlan> {
      if (rules.length === 0) return NO_FAULT;
      const plan: FaultPlan = { latencyMs: 0, outcome: null, view: null, taken: null };
      let delayed = false;
      for (const active of rules) {
        const { rule } = active;
        if (isListFault(rule)) {
          plan.view = viewOf(active, request, plan.view);
          continue;
        }
        // `skip` also counts requests that get the outcome of an earlier rule.
        const isNext = reaches(active, request);
        if (rule.kind === 'latency' ? delayed : plan.outcome !== null) continue;
        if (!isNext || !strikes(active)) continue;
        active.used += 1;
        if (rule.kind === 'latency') {
          delayed = true;
          plan.latencyMs = rule.ms;
        } else {
          plan.outcome = rule;
          plan.taken = active;
        }
      }
      return plan;
    },
    /** Counts an outcome as not used, because it did not take effect. */
    giveBack({ taken }: Readonly<FaultPlan>): void {
      if (taken === null) return;
      taken.used -= 1;
      const isDropped = !rules.some((active) => active === taken);
      if (isDropped && taken.used === 0) drop([taken]);
    },
    /** Begins the outage of a plan now, if it has not already begun. */
    beginOutage({ taken }: Readonly<FaultPlan>, now: number): void {
      const active = rules.find((one) => one === taken);
      if (active?.rule.kind === 'outage') active.until ??= now + active.rule.ms;
    },
    /** True while an outage lasts. Each call counts one connection that the outage has refused. */
    refusesConnection(now: number): boolean {
      const outage = rules.find((active) => lasts(active, now));
      if (outage) outage.used += 1;
      return outage !== undefined;
    },
  };
}

export type Faults = ReturnType<typeof createFaults>;

function isListFault(rule: FaultRule): rule is Extract<FaultRule, { kind: ListFaultKind }> {
  return rule.kind === 'move' || rule.kind === 'shuffle' || rule.kind === 'lag';
}

/** Adds the effect of one more rule to a list. Moved entries keep their new place even after the rule is used up. */
function viewOf(active: ActiveRule, request: Parameters<Faults['take']>[0], before: ListView | null): ListView | null {
  const { rule, used } = active;
  if (!request.operation.endsWith('.list')) return before;
  const view: ListView = before ?? { moved: 0, lagMs: 0, random: null };
  const hits = reaches(active, request) && strikes(active);
  if (hits) active.used += 1;
  if (rule.kind === 'move' && (rule.operation === '*' || rule.operation === request.operation)) {
    return { ...view, moved: view.moved + used };
  }
  if (!hits) return before;
  return rule.kind === 'lag' ? { ...view, lagMs: Math.max(view.lagMs, rule.ms) } : { ...view, random: active.chance };
}

/** A rule without a seed uses its position as the seed, so that two rules do not take effect together. */
function activate(rule: FaultRule, index: number): ActiveRule {
  return { rule, used: 0, seen: 0, chance: createRandom(rule.seed ?? index + 1), until: null };
}

/** True for an outage that has begun and is neither over nor used up. */
function lasts({ rule, used, until }: ActiveRule, now: number): boolean {
  return until !== null && now < until && (rule.count === undefined || used < rule.count);
}

/**
 * True if a request fits a rule, and the rule does not skip this request any more. Call it once for every request,
 * because it counts the requests.
 */
function reaches(
  active: ActiveRule,
  { operation, body, now }: { operation: OperationName; body: string; now: number },
): boolean {
  const { rule } = active;
  if (active.until !== null) return lasts(active, now);
  // A read has no effect that could happen twice.
  if (rule.kind === 'duplicate' && ENDPOINTS[operation].method === 'GET') return false;
  if (rule.operation !== '*' && rule.operation !== operation) return false;
  if (rule.match !== undefined && !body.includes(rule.match)) return false;
  active.seen += 1;
  return active.seen > (rule.skip ?? 0);
}

/** True if a rule takes effect on a request that it reaches. */
function strikes({ rule, used, until, chance }: ActiveRule): boolean {
  if (until !== null) return true;
  if (rule.count !== undefined && used >= rule.count) return false;
  // The random number is drawn last, so that a seed gives the same results even if other requests come in between.
  return rule.probability === undefined || chance() < rule.probability;
}

/** Pseudo-random numbers from 0 to 1, which are the same for the same seed (Marsaglia's xorshift32). */
function createRandom(seed: number): () => number {
  // The state must not be zero, because it would stay zero. An odd multiplier distributes small seeds over the 32 bits.
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
