import { z } from 'zod';
import { ENDPOINTS, type Endpoint, type OperationName } from '../api/endpoints.ts';
import { PASSPORT_STATES } from '../items/passports.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { honoursKeys } from '../storage/idempotency.ts';

/** The answer of a successful operation, before the settings give it their style. */
export interface SuccessShape {
  status: number;
  kind: 'object' | 'list' | 'pdf';
  /** The object, or an entry of the list. */
  schema: z.ZodType;
}

const text = z.string();
const optional = z.string().nullable();
const time = z.iso.datetime();
const decimal = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .describe('A decimal in its normal form, as text.');

/** The schemas of the objects that the API shows. JSON Schema is made from them. */
function resourceShapes({ ids, import: { answer } }: SandboxSettings) {
  const id = { numeric: z.int().min(1), uuid: z.guid(), text }[ids];
  const times = { created_at: time, updated_at: time };
  const status = z.enum(PASSPORT_STATES).exclude(['none']);
  const counts = { created: z.int().min(0), updated: z.int().min(0), failed: z.int().min(0) };
  const row = z.strictObject({
    index: z.int().min(0).describe('Position in the request, from 0.'),
    sku: optional,
    status: z.enum(['created', 'updated', 'failed']),
    id: id.nullable(),
    errors: z.record(text, z.unknown()).describe('Messages by field; empty if the row did not fail.'),
  });
  const importAnswers = {
    'per-row': z.strictObject({ results: z.array(row), ...counts }),
    summary: z.strictObject(counts),
    none: z.strictObject({}),
    later: z.strictObject({ job_id: z.guid() }),
  };
  return {
    product: z.strictObject({
      id,
      sku: text,
      name: text,
      status: text,
      country_of_origin: optional,
      description: optional,
      gtin: optional,
      ...times,
    }),
    material: z.strictObject({
      id,
      code: optional,
      name: text,
      description: optional,
      category: optional,
      origin_country: optional,
      recycled_mass_fraction: decimal.nullable(),
      hazardous: z.boolean().nullable(),
      composition: z.array(z.strictObject({ name: text, cas: optional, mass_fraction: decimal })).nullable(),
      ...times,
    }),
    bomItem: z.strictObject({
      id,
      product: id,
      material: id.nullable(),
      component: id.nullable(),
      quantity: decimal,
      unit: optional,
      per_quantity: decimal.nullable(),
      position: optional,
      mass: z.strictObject({ value: decimal, unit: text }).nullable(),
      mass_fraction: decimal.nullable(),
      valid_from: z.iso.date().nullable(),
      valid_to: z.iso.date().nullable(),
      ...times,
    }),
    passport: z.strictObject({
      id,
      product: id,
      sku: text,
      status,
      public_url: z.url().nullable(),
      published_at: time.nullable(),
      unpublished_at: time.nullable(),
      reviewed_at: time.nullable(),
      ...times,
    }),
    publication: z.strictObject({
      id,
      product: id,
      sku: text,
      status: status.extract(['published', 'unpublished']),
      public_url: z.url(),
      published_at: time,
      unpublished_at: time.nullable(),
      ...times,
    }),
    report: z.strictObject({
      id,
      type: z.enum(['summary', 'completeness']),
      title: optional,
      status: z.literal('completed'),
      data: z.record(text, z.unknown()),
      ...times,
    }),
    importAnswer: importAnswers[answer],
    apiKey: z.strictObject({
      id,
      name: text,
      prefix: text.length(8),
      scopes: z.array(text),
      status: z.literal('revoked'),
      expires_at: time.nullable(),
      revoked_at: time,
    }),
  };
}

/** The status of an import, by the content of its answer. */
const IMPORT_STATUSES = { 'per-row': 200, summary: 200, none: 202, later: 202 } as const;

/** The answer of each operation that succeeds. */
export function successShapes(settings: SandboxSettings): Record<OperationName, SuccessShape> {
  const shapes = resourceShapes(settings);
  const object = (status: number, schema: z.ZodType): SuccessShape => ({ status, kind: 'object', schema });
  const list = (schema: z.ZodType): SuccessShape => ({ status: 200, kind: 'list', schema });
  return {
    'product.list': list(shapes.product),
    'product.create': object(201, shapes.product),
    'bom_item.create': object(201, shapes.bomItem),
    'material.list': list(shapes.material),
    'material.create': object(201, shapes.material),
    'material.update': object(200, shapes.material),
    'passport.init': object(201, shapes.passport),
    'passport.publish': object(200, shapes.passport),
    'passport.unpublish': object(200, shapes.passport),
    'publication.list': list(shapes.publication),
    'passport.pdf': { status: 200, kind: 'pdf', schema: z.unknown() },
    'product.import': object(IMPORT_STATUSES[settings.import.answer], shapes.importAnswer),
    'report.list': list(shapes.report),
    'report.create': object(201, shapes.report),
    'api_key.revoke': object(200, shapes.apiKey),
  };
}

const ALWAYS = {
  401: 'The credentials are missing, or they are invalid, expired or revoked.',
  402: 'The organisation is not on the Enterprise plan.',
  403: 'The key lacks the scope, or the user the role.',
  429: 'The rate limit is reached.',
} as const;

const WRITES = {
  400: 'The body is not JSON, or some of its fields are wrong: messages by field.',
  413: 'The body is too large.',
  415: 'The body is of another type than `application/json`.',
} as const;

/**
 * The ways of paging in which a request for a page that does not exist is refused. In all other ways such a page is
 * empty.
 */
const MISSES_PAGES: ReadonlySet<SandboxSettings['paging']> = new Set([
  'page-number',
  'link-header',
  'cursor',
  'odata',
  'relay',
]);

/**
 * The statuses with which an operation refuses requests under the settings, and their meaning. Statuses of injected
 * faults are not included, nor those that do not come from an operation (a path or method that does not exist, broken
 * HTTP).
 */
export function refusalsOf(
  operation: OperationName,
  { idempotency, paging, duplicates, import: imports }: SandboxSettings,
): ReadonlyMap<number, string> {
  const endpoint: Endpoint = ENDPOINTS[operation];
  const writes = endpoint.method !== 'GET';
  const obeysKeys = honoursKeys(idempotency, endpoint);
  const absent = [
    ...(endpoint.path.includes('{')
      ? ['The organisation has no item with this id. Items of other organisations do not count.']
      : []),
    ...(operation.endsWith('.list') && MISSES_PAGES.has(paging) ? ['There is no such page.'] : []),
  ];
  const blocked = [
    ...(writes && operation.startsWith('passport.')
      ? ['Something is missing that the passport needs, or the state of the passport does not allow the change.']
      : []),
    ...(obeysKeys ? ['The first request with this Idempotency-Key is still in progress.'] : []),
  ];
  const tellsApart = ['product.create', 'material.create', 'material.update'].includes(operation);
  const exists = (status: number): string[] =>
    tellsApart && duplicates.status === status ? ['The item exists already.'] : [];
  const conflicts = [...blocked, ...exists(409)];
  const tooManyRows = operation === 'product.import' && imports.rowsMaxStatus === 422;
  const unprocessable = [
    ...(obeysKeys ? ['The Idempotency-Key was used for another request.'] : []),
    ...exists(422),
    ...(tooManyRows ? ['The import has too many rows.'] : []),
  ];
  const meanings: Record<number, string> = {
    ...ALWAYS,
    ...(writes && WRITES),
    ...(absent.length > 0 && { 404: absent.join(' ') }),
    ...(conflicts.length > 0 && { 409: conflicts.join(' ') }),
    ...(unprocessable.length > 0 && { 422: unprocessable.join(' ') }),
  };
  // JavaScript orders such numeric names by number, so the statuses are sorted.
  return new Map(Object.entries(meanings).map(([status, meaning]) => [Number(status), meaning]));
}
