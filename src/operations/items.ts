// What the ledger shows about one item, and about many.

import { z } from 'zod';
import { DELIVERY_STATES } from '../domain/delivery/delivery.ts';
import { SUBJECT_KINDS } from '../domain/item.ts';
import type { ItemRow as Item, ItemListFilter, Listed, ListPage } from '../domain/ports/ledger/dashboard-views.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import { ItemRow, listOf, page, QuarantinedRow, ShownItem, Source, Why } from './documents.ts';
import { defineOperation } from './operation.ts';
import type { LookContext } from './runtime.ts';

export const listItems = defineOperation({
  name: 'list-items',
  kind: 'look',
  tag: 'ledger',
  role: 'viewer',
  summary: 'Lists items.',
  at: 'GET /items',
  request: z.strictObject({
    kind: z.enum(SUBJECT_KINDS).optional(),
    state: z
      .enum([...DELIVERY_STATES, 'missing', 'missing_decided', 'held', 'incomplete', 'open', 'attention'])
      .optional()
      .describe(
        '`missing`: missing from their source, and nobody has decided. `missing_decided`: missing, and nothing has to be decided. `held`: missing from a read that the guard holds. `incomplete`: products that are not complete, so their passports wait. `open`: neither delivered nor superseded. `attention`: a person is needed.',
      ),
    source: Source,
    search: z.string().optional().describe('A part of a key, a natural key or a name.'),
    cause: z.string().optional().describe('The id of a cause.'),
    run: z.coerce.number().int().optional().describe('Items that this run changed.'),
    ...page,
  }),
  result: listOf(ItemRow),
  run: ({ after, limit, ...filter }, { runtime: { reads } }: LookContext) =>
    listedItems(filter, { after, limit }, reads),
});

/** An item of a list. `missingFirst` is the first reason why a product is not complete. It is not the reason of its delivery. */
export type ListedItem = Item & { missingFirst?: string | null };

export async function listedItems(
  filter: ItemListFilter,
  page: ListPage,
  reads: Pick<Reads, 'items' | 'passportsOf'>,
): Promise<Listed<ListedItem>> {
  const list = await reads.items(filter, page);
  if (filter.state !== 'incomplete') return list;
  const passports = await reads.passportsOf(list.rows.map(({ key }) => key));
  const rows = list.rows.map((item) => ({ ...item, missingFirst: passports.get(item.key)?.blockers[0] ?? null }));
  return { ...list, rows };
}

/** The rows in quarantine, one stream after the other. */
export const listQuarantine = defineOperation({
  name: 'list-quarantine',
  kind: 'look',
  tag: 'attention',
  role: 'viewer',
  summary: 'Lists the rows in quarantine, with what is wrong with each.',
  at: 'GET /quarantine',
  request: z.strictObject({ source: Source, ...page }),
  result: listOf(QuarantinedRow),
  run: ({ source, ...paged }, { runtime: { reads } }: LookContext) => reads.quarantine({ source }, paged),
});

export const showItem = defineOperation({
  name: 'show-item',
  kind: 'look',
  tag: 'ledger',
  role: 'viewer',
  summary: 'Shows one item: its row, what it was mapped to, what the platform has acknowledged, and its timeline.',
  at: 'GET /items/:kind/:key',
  request: z.strictObject({
    kind: z.enum(SUBJECT_KINDS),
    key: z.string().describe('The key or the natural key, percent-encoded.'),
  }),
  result: ShownItem,
  absent: ({ kind, key }) => `There is no ${kind} "${key}" in the ledger.`,
  async run({ kind, key }, { runtime: { reads } }: LookContext) {
    const item = await reads.itemDetail(kind, key);
    if (item === null) return null;
    if (kind !== 'product' && kind !== 'passport') return { item };
    const passport = await reads.passport(item.key);
    if (passport === null) return { item, passport };
    const { blockers: holds, ...shown } = passport;
    return { item, passport: { ...shown, holds } };
  },
  exitCode: () => 0,
});

export const showItemByQuery: typeof showItem = {
  ...showItem,
  name: 'show-item-by-query',
  summary: 'Shows one item whose key does not fit into a path: a very long key, or a key that consists of dots.',
  at: 'GET /items/:kind',
};

export const why = defineOperation({
  name: 'why',
  kind: 'look',
  tag: 'ledger',
  role: 'viewer',
  summary: 'Answers why the passport of a product is not published.',
  at: 'GET /why/:product',
  request: z.strictObject({ product: z.string().describe('The key or the SKU, percent-encoded.') }),
  result: Why,
  absent: ({ product }) => `There is no product "${product}" in the ledger.`,
  run: ({ product }, { runtime: { reads } }: LookContext) => reads.why(product),
  exitCode: ({ published, steps }) => (published && steps.every(({ standing }) => standing !== 'stop') ? 0 : 4),
});
