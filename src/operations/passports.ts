import { z } from 'zod';
import type { PassportAnswer } from '../domain/passport.ts';
import type { PassportFilter } from '../domain/ports/ledger/dashboard-views.ts';
import { PASSPORT_STATES } from '../domain/ports/ledger/ledger-views.ts';
import { cameLater } from './causes.ts';
import { listOf, PassportCounts, PassportRow, page, Source, worked } from './documents.ts';
import { defineOperation, type Operation } from './operation.ts';
import { type PassportOutcome, passportsLeft, settlePassports } from './publish.ts';
import type { LookContext, OperationContext, Synced } from './runtime.ts';

export interface PassportsSelected {
  status: 'published' | 'unpublished';
  /** The keys of the products; null for all products that the filter selects. */
  products: string[] | null;
  filter: PassportFilter;
  /**
   * Leaves passports that came into their state after this time, such as the time when the person has looked at the
   * selection; null leaves none. Named products are not left.
   */
  until: number | null;
  waitMs: number;
}

/** The result for the selected passports. */
export interface PassportsOfSelection {
  status: PassportsSelected['status'];
  selected: number;
  /** Passports that have the wanted state now. */
  changed: number;
  /** Passports of incomplete products, and of products that have disappeared since they were selected. */
  refused: number;
  /** Passports that came into their state after `until`, and were left as they are. */
  later: number;
  /** The first passports that do not have the wanted state, each with the reason. */
  left: PassportOutcome[];
  leftCount: number;
  synced: Synced;
}

/** At most this many passports are listed by name (I9). */
const LISTED_MAX = 200;
/** How many products are handled in one transaction. */
const PAGE = 250;

/** Publishes or withdraws the passports of products that are named, or of all that a filter selects. */
export const changeSelected: Operation<PassportsSelected, PassportsOfSelection> = {
  name: 'change-passports',
  kind: 'work',
  tag: 'work',
  role: 'operator',
  summary: 'Publishes or withdraws the passports of named products, or of all that a filter selects.',
  request: z.strictObject({
    status: z.enum(['published', 'unpublished']),
    products: z.array(z.string()).nullable(),
    filter: z.strictObject({
      state: z.enum(PASSPORT_STATES).optional(),
      source: z.string().optional(),
      search: z.string().optional(),
    }),
    until: z.number().nullable().default(null),
    waitMs: z.number().nonnegative(),
  }),
  result: worked(),
  async run({ status, products, filter, until, waitMs }, context) {
    const { runtime, abort } = context;
    const answers: PassportAnswer[] = [];
    let later = 0;
    for await (const page of pagesOf({ products, filter, until }, context)) {
      abort.throwIfAborted();
      later += page.later;
      answers.push(...(await runtime.ledger.askForPassports({ products: page.products, status })));
      runtime.engine.wake();
    }
    const synced = await settlePassports(answers, waitMs, context);
    const { left, leftCount } = await passportsLeft(answers, LISTED_MAX, context, (acknowledged) =>
      isAsWanted(status, acknowledged),
    );
    const refused = answers.filter(({ result }) => result === 'incomplete' || result === 'unknown').length;
    const changed = answers.length - leftCount;
    return { status, selected: answers.length, changed, refused, later, left, leftCount, synced };
  },
};

/** A passport that is not public need not be withdrawn. */
function isAsWanted(status: PassportsSelected['status'], acknowledged: string | null): boolean {
  return status === 'published' ? acknowledged === 'published' : acknowledged !== 'published';
}

/**
 * The keys of the selected products, page by page, with the number of products that are left. The position for the next
 * page stays correct while their states change.
 */
async function* pagesOf(
  { products, filter, until }: Pick<PassportsSelected, 'products' | 'filter' | 'until'>,
  { runtime, clock }: OperationContext,
): AsyncGenerator<{ products: string[]; later: number }> {
  if (products !== null) {
    const asked = [...new Set(products)];
    for (let at = 0; at < asked.length; at += PAGE) yield { products: asked.slice(at, at + PAGE), later: 0 };
    return;
  }
  // A passport that was asked for changes its state, and may come again under the new one.
  const found = new Set<string>();
  let after: string | undefined;
  do {
    const { rows, next } = await runtime.reads.passports(filter, { after, limit: PAGE });
    const fresh = rows.filter(({ product }) => !found.has(product));
    for (const { product } of fresh) found.add(product);
    const now = clock.now();
    const seen = fresh.filter(({ since }) => !cameLater(since, { until, now }));
    if (fresh.length > 0) yield { products: seen.map(({ product }) => product), later: fresh.length - seen.length };
    after = next ?? undefined;
  } while (after !== undefined);
}

export const listPassports = defineOperation({
  name: 'list-passports',
  kind: 'look',
  tag: 'ledger',
  role: 'viewer',
  summary: 'Lists the passports of products, and why a passport is not published.',
  at: 'GET /passports',
  request: z.strictObject({
    state: z.enum(PASSPORT_STATES).optional(),
    source: Source,
    search: z.string().optional(),
    ...page,
  }),
  result: listOf(PassportRow),
  async run({ after, limit, ...filter }, { runtime: { reads } }: LookContext) {
    const list = await reads.passports(filter, { after, limit });
    const rows = list.rows.map(({ blockers, reason, since, ...row }) => ({ ...row, holds: blockers, reason, since }));
    return { ...list, rows };
  },
});

export const countPassports = defineOperation({
  name: 'count-passports',
  kind: 'look',
  tag: 'ledger',
  role: 'viewer',
  summary: 'Counts passports by their state.',
  at: 'GET /passport-counts',
  request: z.strictObject({ source: Source }),
  result: PassportCounts,
  run: (asked, { runtime: { reads } }: LookContext) => reads.passportCounts(asked),
});
