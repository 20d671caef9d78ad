// Publishes and withdraws passports: those of named products, or of all complete ones.

import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { PassportAnswer, PassportStatus } from '../../domain/passport.ts';
import type { PassportView } from '../../domain/ports/ledger/ledger-views.ts';
import type { Handler, HandlerContext } from '../handler.ts';
import { findPastedItem, unknownItem } from '../named.ts';
import { type Synced, syncIn, WaitMs } from './sync.ts';

const PassportsAsked = z.strictObject({
  /** Keys or natural keys of products. */
  products: z.array(z.string()).min(1),
  waitMs: WaitMs,
});
export type PassportsAsked = z.infer<typeof PassportsAsked>;

/** The result for one passport. */
export interface PassportOutcome extends PassportAnswer {
  passport: PassportView | null;
}

export interface PassportsChanged {
  outcomes: PassportOutcome[];
  synced: Synced;
}

/** Publishes the passports of products that are complete. */
export const publishPassports: Handler<PassportsAsked, PassportsChanged> = {
  name: 'publish',
  request: PassportsAsked,
  handle: (request, context) => changePassports(request, 'published', context),
};

/** Withdraws the passports of products. */
export const unpublishPassports: Handler<PassportsAsked, PassportsChanged> = {
  name: 'unpublish',
  request: PassportsAsked,
  handle: (request, context) => changePassports(request, 'unpublished', context),
};

const PublishCompleteAsked = z.strictObject({
  /** True to count without publishing. */
  dryRun: z.boolean().default(false),
  waitMs: WaitMs,
});
export type PublishCompleteAsked = z.infer<typeof PublishCompleteAsked>;

/** Counts of the passports that are not published. */
export interface Unpublished {
  /** Passports of complete products, which can be published. */
  complete: number;
  /** Passports of incomplete products. */
  incomplete: number;
  /** Passports that a person has withdrawn. They stay withdrawn until a person names them. */
  withdrawn: number;
  /** The first of the products that are not complete, with what is missing. */
  firstIncomplete: { key: string; naturalKey: string | null; blockers: string[] }[];
}

export interface PublishedComplete {
  found: Unpublished;
  /** Null if no passport was requested. */
  done: {
    published: number;
    /** The first passports that were requested and are not published. */
    left: PassportOutcome[];
    leftCount: number;
    synced: Synced;
  } | null;
}

/** At most this many are listed by name (I9). */
const LISTED_MAX = 1000;
/** How many products are checked in one transaction. */
const PAGE = 250;

/** Publishes the passports of all products that are complete and not published. */
export const publishComplete: Handler<PublishCompleteAsked, PublishedComplete> = {
  name: 'publish-complete',
  request: PublishCompleteAsked,
  async handle({ dryRun, waitMs }, context) {
    const { found, answers } = await ask(dryRun, context);
    if (answers.length === 0) {
      // After an abort the counts are incomplete, so they must not be returned.
      context.abort.throwIfAborted();
      return { found, done: null };
    }
    const synced = await settlePassports(answers, waitMs, context);
    const { left, leftCount } = await passportsLeft(
      answers,
      LISTED_MAX,
      context,
      (acknowledged) => acknowledged === 'published',
    );
    return { found, done: { published: answers.length - leftCount, left, leftCount, synced } };
  },
};

/** Reads all products page by page, and requests the passports of the complete ones, except in a dry run. */
async function ask(
  dryRun: boolean,
  { runtime, abort }: HandlerContext,
): Promise<{ found: Unpublished; answers: PassportAnswer[] }> {
  const found: Unpublished = { complete: 0, incomplete: 0, withdrawn: 0, firstIncomplete: [] };
  const answers: PassportAnswer[] = [];
  let afterKey: string | null = null;
  do {
    const page = await runtime.ledger.unpublishedPassports({ afterKey, limit: PAGE });
    found.complete += page.complete.length;
    found.incomplete += page.incomplete.length;
    found.withdrawn += page.withdrawn;
    found.firstIncomplete.push(...page.incomplete.slice(0, LISTED_MAX - found.firstIncomplete.length));
    if (!dryRun && page.complete.length > 0) {
      answers.push(...(await runtime.ledger.askForPassports({ products: page.complete, status: 'published' })));
    }
    afterKey = page.lastKey;
    await setImmediate();
  } while (afterKey !== null && !abort.aborted);
  return { found, answers };
}

/**
 * Requests that passports are published or withdrawn, and waits until their automatic work is done.
 *
 * @throws Fault `item.unknown` where the ledger does not have one of the products; then nothing is requested
 */
async function changePassports(
  { products, waitMs }: PassportsAsked,
  status: 'published' | 'unpublished',
  context: HandlerContext,
): Promise<PassportsChanged> {
  const { reads, ledger } = context.runtime;
  const asked = [...new Set(await Promise.all(products.map((product) => findPastedItem(product, reads, ['product']))))];
  const known = await reads.passportsOf(asked);
  const unknown = asked.find((product) => !known.has(product));
  if (unknown !== undefined) throw await unknownItem('product', unknown, reads);
  const answers = await ledger.askForPassports({ products: asked, status });
  const synced = await settlePassports(answers, waitMs, context);
  return { outcomes: await outcomesOf(answers, context), synced };
}

/** Waits until the automatic work for the requested passports is done. */
export function settlePassports(
  answers: readonly PassportAnswer[],
  waitMs: number,
  context: HandlerContext,
): Promise<Synced> {
  context.runtime.engine.wake();
  const passportsOf = answers.flatMap(({ key }) => (key === null ? [] : [key]));
  return syncIn(context, { sources: [], waitMs, pull: false }, { passportsOf });
}

/** The requested passports that do not have the wanted state: their number, and at most `listedMax` of them. */
export async function passportsLeft(
  answers: readonly PassportAnswer[],
  listedMax: number,
  context: HandlerContext,
  isAsWanted: (acknowledged: PassportStatus | null) => boolean,
): Promise<{ left: PassportOutcome[]; leftCount: number }> {
  const left: PassportOutcome[] = [];
  let leftCount = 0;
  for (let at = 0; at < answers.length; at += PAGE) {
    // There may be a hundred thousand products, and the process has other work.
    await setImmediate();
    const ofPage = (await outcomesOf(answers.slice(at, at + PAGE), context)).filter(
      ({ passport }) => !isAsWanted(passport?.acknowledged ?? null),
    );
    leftCount += ofPage.length;
    left.push(...ofPage.slice(0, listedMax - left.length));
  }
  return { left, leftCount };
}

async function outcomesOf(answers: readonly PassportAnswer[], { runtime }: HandlerContext): Promise<PassportOutcome[]> {
  const passports = await runtime.reads.passportsOf(answers.map(({ asked }) => asked));
  return answers.map((answer) => ({ ...answer, passport: passports.get(answer.asked) ?? null }));
}
