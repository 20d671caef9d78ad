// A server that does not obey the time from which changes are asked for.

import { expect, it } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import { idsOf } from '../../../support/rest/read-from.ts';
import { readRest } from '../../../support/rest/read-rest.ts';
import { startRestServer } from '../../../support/rest/rest-server.ts';

const ROWS = [
  { id: 1, updated: '2026-01-01T00:00:00Z' },
  { id: 2, updated: '2026-06-01T11:00:00Z' },
];

/** The changes from a server that gives all rows whatever it is asked. */
async function changesWith(olderRows: boolean) {
  const server = await startRestServer(() => ({ headers: { date: 'Mon, 01 Jun 2026 12:00:00 GMT' }, body: ROWS }));
  const changes = { by: '$.updated', olderRows, query: { since: '{{since}}' } };
  const settings = {
    options: { base: server.base },
    stream: { get: 'items', page: { by: 'none' }, changes, reconcile: '7d' },
  };
  const { cursor = null } = await readRest(rest, settings);
  const result = await readRest(rest, settings, { mode: 'changes', cursor });
  await server.close();
  return result;
}

it('changes that have rows of long ago give a warning, because the server seems not to obey the filter', async () => {
  const { rows, error, warnings } = await changesWith(false);
  expect(error).toBeNull();
  expect(idsOf(rows)).toEqual([1, 2]);
  expect(warnings).toEqual([expect.stringContaining('such as one of 2026-01-01T00:00:00Z')]);
});

it('changes that have older rows rightly give no warning', async () => {
  expect((await changesWith(true)).warnings).toEqual([]);
});
