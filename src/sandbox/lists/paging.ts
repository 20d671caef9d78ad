import type { Answer } from '../api/answer.ts';
import type { Operation, QueryParameter } from '../api/operation.ts';
import type { Collection } from '../items/collection.ts';
import { arrayRows, type Rows, viewed } from './list-rows.ts';
import { type ListSettings, PAGINGS } from './paging-styles.ts';

/**
 * Lists a collection in pages, in the way of the settings. `filters` are columns for which a query parameter with the
 * same name selects one value, if the settings allow it. Otherwise such a parameter is ignored, like an unknown one.
 */
export function createListOperation(
  collection: Collection,
  settings: ListSettings,
  filters: readonly string[] = [],
): Operation {
  const { answer, parameters } = PAGINGS[settings.paging];
  return {
    query: [...parameters, ...(settings.listFilters ? filters.map(filterNamed) : [])],
    naturalKey: () => undefined,
    execute(request): Answer {
      const { organizationId, query, view, now } = request;
      const column = settings.listFilters ? filters.find((name) => query.has(name)) : undefined;
      const rows =
        column === undefined
          ? allRows(collection, organizationId)
          : arrayRows(collection.all(organizationId, column, query.get(column) ?? ''));
      return answer(view === undefined ? rows : viewed(rows, view, now), request, settings);
    },
  };
}

function allRows(collection: Collection, organizationId: number): Rows {
  return {
    count: collection.count(organizationId),
    slice: (range) => collection.slice(organizationId, range),
  };
}

function filterNamed(name: string): QueryParameter {
  return { name, description: `Only entries with this \`${name}\`.`, schema: { type: 'string' } };
}
