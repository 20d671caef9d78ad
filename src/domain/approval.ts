// Bounds on what one run may change by itself. Beyond them the run is held as a plan, until a person approves or refuses it.

import { sha256Url } from '../lib/hash.ts';
import { canonicalJson, type JsonValue } from '../lib/json.ts';
import { formatCount, formatTime } from '../lib/text/amounts.ts';
import { PLANNED_WRITES, type PlannedItem } from './plan.ts';

/** `creates` and `changes` count the items of a source, `publish` and `unpublish` the passports of its products. */
export const EFFECTS = ['creates', 'changes', 'publish', 'unpublish'] as const;
export type Effect = (typeof EFFECTS)[number];

/** A number, or a share from 0 to 1 of the items that the source has. For passports it is a share of its products. */
export type Bound = { count: number } | { share: number };
export type Bounds = Partial<Record<Effect, Bound | undefined>>;
export type EffectCounts = Record<Effect, number>;

/** One bound that a run exceeds. */
export interface Excess {
  /** The source whose bound it is: another one than the source of the run if the run completes products of another source. */
  source: string;
  effect: Effect;
  count: number;
  limit: number;
}

export interface Decision {
  decided: 'approved' | 'refused';
  by: string;
  /** In milliseconds since the epoch. */
  at: number;
}

/** A decision about one run, by the number of the run: a later run of the source is left as it is. */
export interface Decider {
  by: string;
  /** In milliseconds since the epoch. */
  at: number;
  /** The runs that the person has seen; without it, the run that is held now. */
  runs?: readonly number[] | undefined;
}

/** A run that was held before its first row was stored, and that waits for a person. */
export interface WaitingRun {
  source: string;
  runId: number;
  /** When it was held, in milliseconds since the epoch. */
  at: number;
  excesses: Excess[];
  /** What the run would do, by the source to which it counts. */
  effects: Record<string, EffectCounts>;
  /** The number of its writes, and a digest of all of them. */
  writes: { count: number; digest: string };
}

/** A held run with what a person has decided about it. */
export interface HeldRun extends WaitingRun {
  /** Null while the run waits. */
  decision: Decision | null;
}

/** The effect that a planned item counts as; null if no bound counts it. */
export function effectOf({ action, kind }: PlannedItem): Effect | null {
  if (action === 'publish' || action === 'unpublish') return action;
  if (kind === 'passport') return null;
  if (action === 'create' || action === 'create_or_adopt') return 'creates';
  return action === 'update' ? 'changes' : null;
}

/**
 * A digest of what a planned write does. The values before are no part of it, because what was due before may be delivered
 * between the approval of a run and the run itself. Null for what is no write.
 */
export function writeDigest({ action, kind, key, fields, refs = [] }: PlannedItem): bigint | null {
  if (!PLANNED_WRITES.includes(action)) return null;
  const values = Object.entries(fields).map(([name, change]) => [name, change.new ?? null]);
  const does = action === 'create_or_adopt' ? 'create' : action;
  const text = canonicalJson([does, kind, key, values, refs] as unknown as JsonValue);
  return Buffer.from(sha256Url(text), 'base64url').readBigUInt64BE();
}

export const noEffects = (): EffectCounts => ({ creates: 0, changes: 0, publish: 0, unpublish: 0 });

/**
 * The bounds of a source that these effects exceed.
 *
 * @param has how many items and how many products the source has
 */
export function excessesOf(
  source: string,
  effects: EffectCounts,
  bounds: Bounds,
  has: { items: number; products: number },
): Excess[] {
  return EFFECTS.flatMap((effect) => {
    const bound = bounds[effect];
    if (bound === undefined) return [];
    const whole = effect === 'creates' || effect === 'changes' ? has.items : has.products;
    const limit = 'count' in bound ? bound.count : Math.floor(bound.share * whole);
    return effects[effect] > limit ? [{ source, effect, count: effects[effect], limit }] : [];
  });
}

const WORDS: Record<Effect, (count: number) => string> = {
  creates: (count) => (count === 1 ? '1 new item' : `${formatCount(count)} new items`),
  changes: (count) => (count === 1 ? '1 changed item' : `${formatCount(count)} changed items`),
  publish: (count) => (count === 1 ? '1 passport to publish' : `${formatCount(count)} passports to publish`),
  unpublish: (count) => (count === 1 ? '1 passport to withdraw' : `${formatCount(count)} passports to withdraw`),
};

/** What somebody would do to a source, without what is 0: `12 new items, 1 passport to publish`. Empty if it is nothing. */
export function effectsText(counts: EffectCounts): string {
  return EFFECTS.flatMap((effect) => (counts[effect] === 0 ? [] : [WORDS[effect](counts[effect])])).join(', ');
}

/** What a run would do beyond its bounds: `5,000 changed items (erp allows 500)`. */
export function heldText({ excesses }: Pick<WaitingRun, 'excesses'>): string {
  return excesses
    .map(({ source, effect, count, limit }) => `${WORDS[effect](count)} (${source} allows ${formatCount(limit)})`)
    .join(', ');
}

/** What a person has decided: `anna has refused it, 2026-11-29 17:40 UTC.` */
export function decisionText({ decided, by, at }: Decision): string {
  return `${by} has ${decided} it, ${formatTime(at)}.`;
}
