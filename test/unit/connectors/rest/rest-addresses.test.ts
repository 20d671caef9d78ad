// The address of a request, from `base` and the path of the stream.

import { expect, it } from 'vitest';
import { withAnswers } from '../../../support/rest/read-from.ts';

it.each([
  ['', 'items', '/items'],
  ['/', 'items', '/items'],
  ['//sap/opu', 'items/', '/sap/opu/items/'],
  ['/api///', '/items', '/api/items'],
])('two slashes in a row in `base` count as one: %s and %s', async (end, get, path) => {
  await withAnswers(
    () => ({ body: [] }),
    async (read) => {
      const [first] = (await read({ get: '', page: { by: 'none' } })).calls;
      const { calls, error } = await read({ get, page: { by: 'none' } }, { options: { base: `${first?.base}${end}` } });
      expect(error).toBeNull();
      expect(calls.map(({ url }) => url)).toEqual([path]);
    },
  );
});
