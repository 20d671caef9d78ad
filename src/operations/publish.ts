// Publishes and withdraws passports: those of named products, or of all complete ones.

import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { PassportAnswer, PassportStatus } from '../domain/passport.ts';
import type { PassportView } from '../domain/ports/ledger/ledger-views.ts';
import { worked } from './documents.ts';
import { findPastedItem, unknownItem } from './named.ts';
import type { Operation } from './operation.ts';
import { errorDocument } from './results.ts';
import { syncIn, WaitMs } from './runs.ts';
import type { OperationContext, Synced } from './runtime.ts';

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
export const publishPassports: Operation<PassportsAsked, PassportsChanged> = {
  name: 'publish',
  kind: 'work',
  tag: 'work',
  role: 'operator',
  summary: 'Publishes the passports of named products.',
  request: PassportsAsked,
  result: worked(),
  run: (request, context) => changePassports(request, 'published', context),
  document: changedDocument,
  exitCode: (changed) => exitCodeFor(changed, 'published'),
};

/** Withdraws the passports of products. */
export const unpublishPassports: Operation<PassportsAsked, PassportsChanged> = {
  name: 'unpublish',
  kind: 'work',
  tag: 'work',
  role: 'operator',
  summary: 'Withdraws the passports of named products.',
  request: PassportsAsked,
  result: worked(),
  run: (request, context) => changePassports(request, 'unpublished', context),
  document: changedDocument,
  exitCode: (changed) => exitCodeFor(changed, 'unpublished'),
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
/** How many products are read or requested in one transaction. */
const PAGE = 250;

/** Publishes the passports of all products that are complete and not published. */
export const publishComplete: Operation<PublishCompleteAsked, PublishedComplete> = {
  name: 'publish-complete',
  kind: 'work',
  tag: 'work',
  role: 'operator',
  summary: 'Publishes the passports of all complete products.',
  request: PublishCompleteAsked,
  result: worked(),
  async run({ dryRun, waitMs }, context) {
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
  document: allDocument,
  exitCode({ found, done }) {
    const isAll = found.incomplete === 0 && (done === null || done.leftCount === 0);
    return isAll ? 0 : (done?.synced.fault?.exitCode ?? 4);
  },
};

/** Reads all products page by page, and then requests the passports of the complete ones, except in a dry run. */
async function ask(
  dryRun: boolean,
  context: OperationContext,
): Promise<{ found: Unpublished; answers: PassportAnswer[] }> {
  const { runtime, abort } = context;
  const found: Unpublished = { complete: 0, incomplete: 0, withdrawn: 0, firstIncomplete: [] };
  const complete: string[] = [];
  let afterKey: string | null = null;
  do {
    const page = await runtime.ledger.unpublishedPassports({ afterKey, limit: PAGE });
    complete.push(...page.complete);
    found.complete += page.complete.length;
    found.incomplete += page.incomplete.length;
    found.withdrawn += page.withdrawn;
    found.firstIncomplete.push(...page.incomplete.slice(0, LISTED_MAX - found.firstIncomplete.length));
    afterKey = page.lastKey;
    await setImmediate();
  } while (afterKey !== null && !abort.aborted);
  return { found, answers: dryRun ? [] : await requestPassports(complete, 'published', context) };
}

/**
 * Requests that passports are published or withdrawn, page by page, until an abort. What the ledger does not have yet counts as left
 * to be sent.
 */
export async function requestPassports(
  products: readonly string[],
  status: 'published' | 'unpublished',
  { runtime, abort }: OperationContext,
): Promise<PassportAnswer[]> {
  const answers: PassportAnswer[] = [];
  runtime.passports.addRequested(products.length);
  let asked = 0;
  try {
    while (asked < products.length && !abort.aborted) {
      const page = products.slice(asked, asked + PAGE);
      answers.push(...(await runtime.ledger.askForPassports({ products: page, status })));
      runtime.passports.addRequested(-page.length);
      asked += page.length;
      runtime.engine.wake();
      await setImmediate();
    }
  } finally {
    runtime.passports.addRequested(asked - products.length);
  }
  return answers;
}

/**
 * Requests that passports are published or withdrawn, and waits until their automatic work is done.
 *
 * @throws Fault `item.unknown` where the ledger does not have one of the products; then nothing is requested
 */
async function changePassports(
  { products, waitMs }: PassportsAsked,
  status: 'published' | 'unpublished',
  context: OperationContext,
): Promise<PassportsChanged> {
  const { reads } = context.runtime;
  const asked = [...new Set(await Promise.all(products.map((product) => findPastedItem(product, reads, ['product']))))];
  const known = await reads.passportsOf(asked);
  const unknown = asked.find((product) => !known.has(product));
  if (unknown !== undefined) throw await unknownItem('product', unknown, reads);
  const answers = await requestPassports(asked, status, context);
  const synced = await settlePassports(answers, waitMs, context);
  return { outcomes: await outcomesOf(answers, context), synced };
}

/** Waits until the automatic work for the requested passports is done. */
export function settlePassports(
  answers: readonly PassportAnswer[],
  waitMs: number,
  context: OperationContext,
): Promise<Synced> {
  const passportsOf = answers.flatMap(({ key }) => (key === null ? [] : [key]));
  return syncIn(context, { sources: [], waitMs, pull: false }, { passportsOf });
}

/** The requested passports that do not have the wanted state: their number, and at most `listedMax` of them. */
export async function passportsLeft(
  answers: readonly PassportAnswer[],
  listedMax: number,
  context: OperationContext,
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

async function outcomesOf(
  answers: readonly PassportAnswer[],
  { runtime }: OperationContext,
): Promise<PassportOutcome[]> {
  const passports = await runtime.reads.passportsOf(answers.map(({ asked }) => asked));
  return answers.map((answer) => ({ ...answer, passport: passports.get(answer.asked) ?? null }));
}

function changedDocument({ outcomes, synced }: PassportsChanged): object {
  return { passports: outcomes.map(outcomeDocument), ...errorIn(synced) };
}

function allDocument({ found, done }: PublishedComplete): object {
  const { complete: _, firstIncomplete, ...counts } = found;
  return {
    published: done?.published ?? 0,
    notPublished: done?.leftCount ?? 0,
    ...counts,
    passports: (done?.left ?? []).map(outcomeDocument),
    incompleteProducts: firstIncomplete.map(({ key, naturalKey, blockers }) => ({
      key,
      sku: naturalKey,
      holds: blockers,
    })),
    ...(done === null ? {} : errorIn(done.synced)),
  };
}

function outcomeDocument({ asked, key, naturalKey, blockers, passport }: PassportOutcome): object {
  return {
    asked,
    key,
    sku: naturalKey,
    state: passport?.state ?? null,
    reason: passport?.reason ?? null,
    holds: blockers,
  };
}

function errorIn({ fault: failure }: Synced): object {
  return failure === null ? {} : { error: errorDocument(failure) };
}

/** True if the passport has the status that was asked for. */
export function isDone({ passport }: PassportOutcome, status: PassportStatus): boolean {
  if (status === 'published') return passport?.acknowledged === 'published';
  return passport !== null && passport.acknowledged !== 'published';
}

/** The exit code only depends on the requested passports, not on other items. */
function exitCodeFor({ outcomes, synced }: PassportsChanged, status: PassportStatus): number {
  if (outcomes.every((outcome) => isDone(outcome, status))) return 0;
  return synced.fault?.exitCode ?? 4;
}
