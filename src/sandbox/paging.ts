import type { JsonObject } from '../lib/json.ts';
import { refusal } from './answer.ts';
import { type Collection, present } from './collection.ts';
import type { Operation } from './operation.ts';
import type { SandboxSettings } from './settings.ts';

/**
 * Lists a collection as Django REST Framework's PageNumberPagination does: `page` counts from 1, a page beyond the last
 * is 404, a `page_size` that makes no sense is ignored, and `next` and `previous` are absolute URLs or null.
 */
export function createListOperation(
  collection: Collection,
  { pageSize, pageSizeMax }: Pick<SandboxSettings, 'pageSize' | 'pageSizeMax'>,
): Operation {
  return {
    naturalKey: () => undefined,
    execute({ organizationId, query, url }) {
      const size = Math.min(positive(query.get('page_size')) ?? pageSize, pageSizeMax);
      const page = positive(query.get('page') ?? '1');
      const count = collection.count(organizationId);
      const pages = Math.max(1, Math.ceil(count / size));
      if (page === undefined || page > pages) return refusal(404, 'Invalid page.');
      const link = (target: number): string => {
        const parameters = new URLSearchParams(query);
        parameters.set('page', String(target));
        return `${url}?${parameters.toString()}`;
      };
      const results: JsonObject[] = collection
        .slice(organizationId, { offset: (page - 1) * size, limit: size })
        .map(present);
      const next = page < pages ? link(page + 1) : null;
      const previous = page > 1 ? link(page - 1) : null;
      return { status: 200, body: { count, next, previous, results } };
    },
  };
}

function positive(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) && Number(text) > 0 ? Number(text) : undefined;
}
