// An API that neither a preset nor a page knows, in thirty lines that a person wrote from docs/connectors/rest.md and the description of
// the API alone: parts and bills of a parts database with the paging of Django REST.

import { expect, it, onTestFinished, vi } from 'vitest';
import { runHere } from '../../support/cli/cli-here.ts';
import { startRestServer } from '../../support/rest/rest-server.ts';
import { API_KEY, createWorld } from '../../support/worlds/world.ts';

/** The address and the token take the places of the variables. */
const SOURCE = `  - id: inventree
    connector: rest
    options:
      base: \${INVENTREE_URL}/api
      auth: { by: apiKey, header: Authorization, prefix: "Token ", key: "\${INVENTREE_TOKEN}" }
    streams:
      part:
        get: part/
        query: { limit: "{{size}}", offset: "{{offset}}", ordering: pk }
        rows: $.results
        page: { by: offset, size: 100, total: $.count }
        key: [pk]
      bom:
        get: bom/
        query: { limit: "{{size}}", offset: "{{offset}}", ordering: pk }
        rows: $.results
        page: { by: offset, size: 100, total: $.count }
        key: [pk]
    mappings:
      - stream: part
        to: product
        key: string(row.pk)
        when: row.assembly
        fields: { sku: 'row.IPN == "" ? string(row.pk) : row.IPN', name: row.name }
      - { stream: part, to: material, key: string(row.pk), when: "!row.assembly", fields: { code: row.IPN, name: row.name } }
      - stream: bom
        to: bom_item
        key: string(row.pk)
        refs: { product: string(row.part), part: string(row.sub_part) }
        fields: { quantity: decimal(row.quantity), position: row.reference }
`;

const TOKEN = 'inv-0123456789abcdef';
const PARTS = Array.from({ length: 230 }, (_, at) => ({
  pk: at + 1,
  IPN: at % 50 === 3 && at < 30 ? '' : `P-${1000 + at}`,
  name: `Part ${at + 1}`,
  assembly: at < 30,
}));
const LINES = Array.from({ length: 120 }, (_, at) => ({
  pk: at + 1,
  part: 1 + (at % 30),
  sub_part: 31 + ((at * 7) % 190),
  quantity: 1 + (at % 4) + (at % 5 === 0 ? 0.5 : 0),
  reference: `R${at}`,
}));

it('a REST API that is not in the list takes at most 30 lines, written from its page alone', async () => {
  expect(SOURCE.trimEnd().split('\n').length).toBeLessThanOrEqual(30);
  const lists: Record<string, readonly object[]> = { '/api/part/': PARTS, '/api/bom/': LINES };
  const api = await startRestServer(({ path, query, headers }) => {
    if (headers.authorization !== `Token ${TOKEN}`) return { status: 401, body: { detail: 'Invalid token.' } };
    const list = lists[path];
    if (list === undefined) return { status: 404, body: { detail: 'Not found.' } };
    const offset = Number(query.get('offset'));
    return { body: { count: list.length, results: list.slice(offset, offset + Number(query.get('limit'))) } };
  });
  onTestFinished(() => api.close());
  const world = await createWorld({ config: {} });
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await world.remove();
  });
  vi.stubEnv('DPP_BASE_URL', world.baseUrl);
  vi.stubEnv('DPP_API_KEY', API_KEY);
  const source = SOURCE.replace('${INVENTREE_URL}', api.base).replace('${INVENTREE_TOKEN}', TOKEN);
  world.write(
    'dpp-sync.yaml',
    `target: { baseUrl: "\${DPP_BASE_URL}", apiKey: "\${DPP_API_KEY}" }\nsources:\n${source}`,
  );

  const checked = (await runHere(['check', '-c', world.configFile, '--json'])).json();
  expect(checked).toMatchObject({ ok: true, config: { warnings: [] } });
  expect(await world.sync()).toMatchObject({ failedRuns: [], quarantined: 0, left: 0 });
  const { products, materials, bomItems } = world.contents();
  const names = (list: readonly object[]) => list.map((one) => (one as { name: string }).name).toSorted();
  expect(names(products)).toEqual(names(PARTS.filter(({ assembly }) => assembly)));
  expect(names(materials)).toEqual(names(PARTS.filter(({ assembly }) => !assembly)));
  expect(new Set(bomItems.map(({ position }) => position))).toEqual(new Set(LINES.map(({ reference }) => reference)));
  expect(bomItems).toHaveLength(LINES.length);
});
