import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMappers } from '../../../src/daemon/sources/mappers.ts';
import { Profile } from '../../../src/domain/profile.ts';
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
  }));
  const mappers = createMappers({ sources: () => sources, profile: Profile.parse({}), baseDir: folder });
  await mappers.refreshAll();
  expect(sources.map(({ id }) => mappers.of(id)).includes(null)).toBe(false);
  expect(loading.most).toBeGreaterThan(1);
  expect(loading.most).toBeLessThanOrEqual(4);
});
