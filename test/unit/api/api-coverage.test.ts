import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ENDPOINT_NAMES, ENDPOINTS, scopeOf } from '../../../src/api/endpoints.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { explainedSettings, namedCode, namedTests } from '../../generate/api-coverage.ts';
import { REPOSITORY } from '../../support/worlds/config-folder.ts';

const DOCUMENT = resolve(REPOSITORY, '../shared/passport-api.md');

describe('the coverage page', () => {
  it('the page about the coverage of the API names code and tests that exist', () => {
    for (const file of namedCode()) expect(existsSync(join(REPOSITORY, file)), file).toBe(true);
    for (const { file, name } of namedTests()) {
      const text = readFileSync(join(REPOSITORY, file), 'utf8').replaceAll("\\'", "'");
      expect(text.includes(name), `${file}: ${name}`).toBe(true);
    }
  });

  it('the page about the coverage of the API explains every setting of the profile', () => {
    expect(explainedSettings().sort()).toEqual(Object.keys(Profile.parse({})).sort());
  });
});

describe('the endpoint table', () => {
  it.skipIf(!existsSync(DOCUMENT))('the endpoint table fits the API document (needs ../shared/passport-api.md)', () => {
    const rows = readFileSync(DOCUMENT, 'utf8').matchAll(/^\| ([^|]+) \| (GET|POST|PATCH) \| (\S+) \| ([^|]+) \|$/gm);
    const documented = [...rows].map(([, title = '', method, path, scope = '']) => [
      title,
      method,
      path,
      /^(?:read|write|publish)$/.exec(scope.trim())?.[0] ?? (scope.startsWith('none') ? null : 'open'),
    ]);
    const profile = Profile.parse({});
    const ours = ENDPOINT_NAMES.map((name) => {
      const { title, method, path } = ENDPOINTS[name];
      return [title, method, path, name === 'report.create' ? 'open' : scopeOf(name, profile)];
    });
    expect(ours).toEqual(documented);
  });
});
