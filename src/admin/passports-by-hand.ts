import { z } from 'zod';
import type { PassportAnswer } from '../domain/passport.ts';
import type { PassportView } from '../domain/ports/ledger/ledger-views.ts';
import type { HandlerContext } from './handler.ts';
import { findPastedItem } from './pasted-keys.ts';
import { type Synced, syncIn } from './synced.ts';
import { unknownItem } from './unknown-item.ts';
import { WaitMs } from './wait.ts';

export interface PassportsAsked {
  /** Keys or natural keys of products. */
  products: string[];
  waitMs: number;
}

export const PassportsAsked: z.ZodType<PassportsAsked> = z.strictObject({
  products: z.array(z.string()).min(1),
  waitMs: WaitMs,
});

/** The result for one passport. */
export interface PassportOutcome extends PassportAnswer {
  passport: PassportView | null;
}

export interface PassportsChanged {
  outcomes: PassportOutcome[];
  synced: Synced;
}

/**
 * Requests that passports are published or withdrawn, and waits until their automatic work is done.
 *
 * @throws Fault `item.unknown` where the ledger does not have one of the products; then nothing is requested
 */
export async function changePassports(
  { products, waitMs }: PassportsAsked,
  status: 'published' | 'unpublished',
  context: HandlerContext,
): Promise<PassportsChanged> {
  const { views, ledger } = context.runtime;
  const asked = [...new Set(products.map((product) => findPastedItem(product, views, ['product'])))];
  for (const product of asked) {
    if (views.item('product', product) === null) throw unknownItem('product', product, views);
  }
  const answers = await ledger.askForPassports({ products: asked, status });
  const synced = await settlePassports(answers, waitMs, context);
  return { outcomes: answers.map((answer) => ({ ...answer, passport: views.passport(answer.asked) })), synced };
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
