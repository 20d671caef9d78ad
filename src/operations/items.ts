// What the ledger shows about one item, and about many.

import { z } from 'zod';
import { DELIVERY_STATES } from '../domain/delivery/delivery.ts';
import { SUBJECT_KINDS } from '../domain/item.ts';
import { ItemDetail, ItemRow, listOf, page, Source, Why } from './documents.ts';
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
      .enum([...DELIVERY_STATES, 'missing', 'incomplete', 'open', 'attention'])
      .optional()
      .describe('`open`: neither delivered nor superseded. `attention`: a person is needed.'),
    source: Source,
    search: z.string().optional().describe('The beginning of a key or natural key, or a part of a name.'),
    cause: z.string().optional().describe('The id of a cause.'),
    run: z.coerce.number().int().optional().describe('Items that this run changed.'),
    ...page,
  }),
  result: listOf(ItemRow),
  run: ({ after, limit, ...filter }, { runtime: { reads } }: LookContext) => reads.items(filter, { after, limit }),
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
  result: ItemDetail,
  absent: ({ kind, key }) => `There is no ${kind} "${key}" in the ledger.`,
  run: ({ kind, key }, { runtime: { reads } }: LookContext) => reads.itemDetail(kind, key),
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
