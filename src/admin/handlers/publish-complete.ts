import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { PassportAnswer } from '../../domain/passport.ts';
import type { Handler, HandlerContext } from '../handler.ts';
import { type PassportOutcome, settlePassports } from '../passports-by-hand.ts';
import type { Synced } from '../synced.ts';
import { WaitMs } from '../wait.ts';

export interface PublishCompleteAsked {
  /** True to count without publishing. */
  dryRun: boolean;
  waitMs: number;
}

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
  request: z.strictObject({ dryRun: z.boolean().default(false), waitMs: WaitMs }),
  async handle({ dryRun, waitMs }, context) {
    const { found, answers } = await ask(dryRun, context);
    if (answers.length === 0) {
      // After an abort the counts are incomplete, so they must not be returned.
      context.abort.throwIfAborted();
      return { found, done: null };
    }
    const synced = await settlePassports(answers, waitMs, context);
    const left: PassportOutcome[] = [];
    let leftCount = 0;
    for (const [at, answer] of answers.entries()) {
      // There may be a hundred thousand products, and the process has other work.
      if (at % PAGE === 0) await setImmediate();
      const passport = context.runtime.views.passport(answer.asked);
      if (passport?.acknowledged === 'published') continue;
      leftCount += 1;
      if (left.length < LISTED_MAX) left.push({ ...answer, passport });
    }
    return { found, done: { published: answers.length - leftCount, left, leftCount, synced } };
  },
};

/** Reads all products page by page, and requests the passports of the complete ones, except in a dry run. */
async function ask(
  dryRun: boolean,
  { runtime, abort }: Pick<HandlerContext, 'runtime' | 'abort'>,
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
