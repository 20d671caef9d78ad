import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMappers } from '../../../src/daemon/sources/mappers.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { Fault } from '../../../src/lib/errors.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

/** How many modules are being loaded, and the most that were. */
const loading = { now: 0, most: 0 };
const SOURCES = 20;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dpp-mappers-'));
  Object.assign(globalThis, { loadingModules: loading });
  const text = [
    'const { loadingModules } = globalThis;',
    'loadingModules.now += 1;',
    'loadingModules.most = Math.max(loadingModules.most, loadingModules.now);',
    'for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));',
    'loadingModules.now -= 1;',
    'export default { map: () => [] };',
  ].join('\n');
  for (let at = 0; at < SOURCES; at += 1) await writeFile(join(folder, `mapping-${at}.mjs`), `${text}\n// ${at}\n`);
});
afterAll(async () => {
  Reflect.deleteProperty(globalThis, 'loadingModules');
  await removeFolder(folder);
});

it('the mappings of many sources are read a few at a time', async () => {
  const sources = Array.from({ length: SOURCES }, (_, at) => ({
    id: `erp-${at}`,
    mappings: [{ stream: 'default', module: join(folder, `mapping-${at}.mjs`), path: `sources[${at}].mappings[0]` }],
    lookups: {},
    units: {},
    omit: [],
    lineOf: () => null,
  }));
  const mappers = createMappers({
    sources: () => sources,
    profile: Profile.parse({}),
    file: join(folder, 'dpp-sync.yaml'),
  });
  await mappers.refreshAll();
  expect(sources.map(({ id }) => mappers.of(id)).includes(null)).toBe(false);
  expect(loading.most).toBeGreaterThan(1);
  expect(loading.most).toBeLessThanOrEqual(4);
});

it('names the file and the line of every problem, each on a line of its own', async () => {
  const product = (name: string, at: number) => ({
    stream: 'default',
    to: 'product' as const,
    key: 'row.A',
    fields: { sku: 'row.A', name },
    path: `sources[0].mappings[${at}]`,
  });
  const lines: Record<string, number> = {
    'sources[0].mappings[0].fields.name': 7,
    'sources[0].mappings[1].fields.name': 12,
    'sources[0].mappings[2].fields.name': 17,
    'sources[0].mappings[3].fields.name': 22,
  };
  const source = {
    id: 'erp',
    mappings: [
      product('foo', 0),
      product('row.B +', 1),
      product('lookup("colours", row.C)', 2),
      product('row.PRICE', 3),
      // A mapping for several sources asks whether there is the column.
      product('has(row.PRICE) ? row.PRICE : row.C', 4),
    ],
    lookups: {},
    units: {},
    omit: ['PRICE'],
    lineOf: (path: string) => lines[path] ?? null,
  };
  const file = join(folder, 'dpp-sync.yaml');
  const mappers = createMappers({ sources: () => [source], profile: Profile.parse({}), file });
  const failure = await mappers.refreshAll().then(
    () => null,
    (error: unknown) => error as Fault,
  );
  expect(failure).toMatchObject({
    code: 'mapping.invalid',
    exitCode: 2,
    path: 'sources[0].mappings[0].fields.name',
  });
  const [heading, first, second, omitted, third, ...others] = failure?.message.split('\n') ?? [];
  expect(heading).toBe('dpp-sync.yaml has 4 problems:');
  expect(first).toMatch(
    /^ {2}sources\[0\]\.mappings\[0\]\.fields\.name \(line 7\): "foo" is not known; .*\(in `foo` at character 1\)/,
  );
  expect(second).toMatch(/^ {2}sources\[0\]\.mappings\[1\]\.fields\.name \(line 12\): .*\(in `row\.B \+`/);
  expect(third).toMatch(
    /^ {2}sources\[0\]\.mappings\[2\]\.fields\.name \(line 17\): There is no lookup table "colours"\./,
  );
  expect(omitted).toBe(
    '  sources[0].mappings[3].fields.name (line 22): The column "PRICE" is in the `omit` of the source, so no record has it (in `row.PRICE`). Remove it from `omit`, or from the expression.',
  );
  expect(others).toEqual([]);
});
