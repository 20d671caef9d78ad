import { ENDPOINTS, type Endpoint, type OperationName } from '../api/endpoints.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { honoursKeys } from '../storage/idempotency.ts';

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
  {
    idempotency,
    paging,
    duplicates,
    import: imports,
  }: Pick<SandboxSettings, 'idempotency' | 'paging' | 'duplicates' | 'import'>,
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
