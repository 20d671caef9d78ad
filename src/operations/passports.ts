import { z } from 'zod';
import { PASSPORT_STATES } from '../domain/passport.ts';
import type { PassportFilter } from '../domain/ports/ledger/dashboard-views.ts';
import { cameLater } from './causes.ts';
import { listOf, PassportCounts, PassportRow, page, Source, worked } from './documents.ts';
import { defineOperation, type Operation } from './operation.ts';
import { type PassportOutcome, passportsLeft, requestPassports, settlePassports } from './publish.ts';
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
/** How many products are read at once. */
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
    const { selected, later } = await selectedBy({ products, filter, until }, context);
    const answers = await requestPassports(selected, status, context);
    context.abort.throwIfAborted();
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

/** The keys of the selected products, and the number of products that are left. */
async function selectedBy(
  { products, filter, until }: Pick<PassportsSelected, 'products' | 'filter' | 'until'>,
  { runtime, clock, abort }: OperationContext,
): Promise<{ selected: string[]; later: number }> {
  if (products !== null) return { selected: [...new Set(products)], later: 0 };
  // A passport that changes its state meanwhile may come again under the new one.
  const found = new Map<string, boolean>();
  let after: string | undefined;
  do {
    abort.throwIfAborted();
    const { rows, next } = await runtime.reads.passports(filter, { after, limit: PAGE });
    const now = clock.now();
    for (const { product, since } of rows) {
      if (!found.has(product)) found.set(product, cameLater(since, { until, now }));
    }
    after = next ?? undefined;
  } while (after !== undefined);
  const selected = [...found].flatMap(([product, isLater]) => (isLater ? [] : product));
  return { selected, later: found.size - selected.length };
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
