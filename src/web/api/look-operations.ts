import { z } from 'zod';
import { DELIVERY_STATES } from '../../domain/delivery/delivery.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { PASSPORT_STATES } from '../../domain/ports/ledger/ledger-views.ts';
import { notFound } from '../web-fault.ts';
import { type ApiContext, type ApiOperation, defineOperation } from './operation.ts';
import {
  ActionRow,
  CAUSE_TYPES,
  Cause,
  CauseMember,
  ItemDetail,
  ItemRow,
  LookupValue,
  listOf,
  PassportCounts,
  PassportRow,
  RunRow,
  Why,
} from './schemas.ts';

const Nothing = z.strictObject({});
const Source = z.string().optional().describe('The id of a source.');
const page = {
  after: z.string().optional().describe('The `next` of the page before.'),
  limit: z.coerce.number().int().min(1).max(500).default(100),
};
const ItemName = z.strictObject({
  kind: z.enum(SUBJECT_KINDS),
  key: z.string().describe('The key or the natural key, percent-encoded.'),
});
const Id = z.strictObject({ id: z.string() });
const RunId = z.strictObject({ id: z.coerce.number().int() });

function found<Value>(value: Value | null, what: string): { value: Value } {
  if (value === null) throw notFound(what);
  return { value };
}

async function itemOf(kind: SubjectKind, key: string, reads: ApiContext['reads']) {
  return found(await reads.itemDetail(kind, key), `There is no ${kind} "${key}" in the ledger.`);
}

/** The operations that read the ledger. */
export const LOOK_OPERATIONS: readonly ApiOperation[] = [
  defineOperation({
    method: 'GET',
    path: '/items',
    id: 'listItems',
    summary: 'Lists items.',
    tag: 'ledger',
    role: 'viewer',
    params: Nothing,
    query: z.strictObject({
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
    body: null,
    answer: { status: 200, schema: listOf(ItemRow) },
    async handle({ query: { after, limit, ...filter } }, { reads }) {
      return { value: await reads.items(filter, { after, limit }) };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/items/:kind/:key',
    id: 'showItem',
    summary: 'Shows one item: its row, what it was mapped to, what the platform has acknowledged, and its timeline.',
    tag: 'ledger',
    role: 'viewer',
    params: ItemName,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: ItemDetail },
    handle: ({ params: { kind, key } }, { reads }) => itemOf(kind, key, reads),
  }),
  defineOperation({
    method: 'GET',
    path: '/items/:kind',
    id: 'showItemByQuery',
    summary: 'Shows one item whose key does not fit into a path: a very long key, or a key that consists of dots.',
    tag: 'ledger',
    role: 'viewer',
    params: ItemName.pick({ kind: true }),
    query: ItemName.pick({ key: true }),
    body: null,
    answer: { status: 200, schema: ItemDetail },
    handle: ({ params: { kind }, query: { key } }, { reads }) => itemOf(kind, key, reads),
  }),
  defineOperation({
    method: 'GET',
    path: '/why/:product',
    id: 'why',
    summary: 'Answers why the passport of a product is not published.',
    tag: 'ledger',
    role: 'viewer',
    params: z.strictObject({ product: z.string().describe('The key or the SKU, percent-encoded.') }),
    query: Nothing,
    body: null,
    answer: { status: 200, schema: Why },
    async handle({ params: { product } }, { reads }) {
      return found(await reads.why(product), `There is no product "${product}" in the ledger.`);
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/passports',
    id: 'listPassports',
    summary: 'Lists the passports of products, and why a passport is not published.',
    tag: 'ledger',
    role: 'viewer',
    params: Nothing,
    query: z.strictObject({
      state: z.enum(PASSPORT_STATES).optional(),
      source: Source,
      search: z.string().optional(),
      ...page,
    }),
    body: null,
    answer: { status: 200, schema: listOf(PassportRow) },
    async handle({ query: { after, limit, ...filter } }, { reads }) {
      const list = await reads.passports(filter, { after, limit });
      const rows = list.rows.map(({ blockers, reason, since, ...row }) => ({ ...row, holds: blockers, reason, since }));
      return { value: { ...list, rows } };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/passport-counts',
    id: 'countPassports',
    summary: 'Counts passports by their state.',
    tag: 'ledger',
    role: 'viewer',
    params: Nothing,
    query: z.strictObject({ source: Source }),
    body: null,
    answer: { status: 200, schema: PassportCounts },
    async handle({ query }, { reads }) {
      return { value: await reads.passportCounts(query) };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/runs',
    id: 'listRuns',
    summary: 'Lists runs, the newest first.',
    tag: 'ledger',
    role: 'viewer',
    params: Nothing,
    query: z.strictObject({
      source: Source,
      stream: z.string().optional(),
      result: z.enum(['complete', 'failed', 'guarded', 'interrupted', 'running']).optional(),
      ...page,
    }),
    body: null,
    answer: { status: 200, schema: listOf(RunRow) },
    async handle({ query: { after, limit, ...filter } }, { reads }) {
      return { value: await reads.runs(filter, { after, limit }) };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/runs/:id',
    id: 'showRun',
    summary: 'Shows one run and its counts.',
    tag: 'ledger',
    role: 'viewer',
    params: RunId,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: RunRow },
    async handle({ params: { id } }, { reads }) {
      return found(await reads.run(id), `There is no run ${id} in the ledger.`);
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/causes',
    id: 'listCauses',
    summary: 'Lists the rows, items and runs that need a person, grouped by cause, the largest group first.',
    tag: 'attention',
    role: 'viewer',
    params: Nothing,
    query: z.strictObject({ source: Source, type: z.enum(CAUSE_TYPES).optional() }),
    body: null,
    answer: { status: 200, schema: z.array(Cause) },
    async handle({ query }, { reads }) {
      return { value: await reads.causes(query) };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/causes/:id',
    id: 'showCause',
    summary: 'Shows one cause.',
    tag: 'attention',
    role: 'viewer',
    params: Id,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: Cause },
    async handle({ params: { id } }, { reads }) {
      return found(await reads.cause(id), `Nothing is stuck for the cause ${id}.`);
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/causes/:id/members',
    id: 'listCauseMembers',
    summary: 'Lists the quarantined rows, stuck items or failed runs of a cause.',
    tag: 'attention',
    role: 'viewer',
    params: Id,
    query: z.strictObject(page),
    body: null,
    answer: { status: 200, schema: listOf(CauseMember) },
    async handle({ params: { id }, query }, { reads }) {
      return { value: await reads.causeMembers(id, query) };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/lookup-values',
    id: 'listLookupValues',
    summary: 'Lists the values of lookup tables that people have added.',
    tag: 'attention',
    role: 'viewer',
    params: Nothing,
    query: Nothing,
    body: null,
    answer: { status: 200, schema: z.array(LookupValue) },
    async handle(_, { reads }) {
      return { value: await reads.lookupValues() };
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/audit',
    id: 'listActions',
    summary: 'Lists the audit log, the newest entry first.',
    tag: 'daemon',
    role: 'operator',
    params: Nothing,
    query: z.strictObject(page),
    body: null,
    answer: { status: 200, schema: listOf(ActionRow) },
    async handle({ query }, { reads }) {
      return { value: await reads.actions(query) };
    },
  }),
];
