import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { assertSettings } from '../../../src/sdk/files/acknowledge-files.ts';
import { FILE_SOURCE, FILE_STREAM } from '../../../src/sdk/files/file-options.ts';
import { locate } from '../../../src/sdk/files/location.ts';
import { loadText } from '../../support/worlds/config-folder.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/connectors/files.md'), 'utf8');

/** The names of all fields of a schema, at every depth. */
function namesIn(schema: unknown): string[] {
  const found: string[] = [];
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === 'properties') found.push(...Object.keys(value as object));
    return value;
  });
  return found;
}

describe('the page on where files come from', () => {
  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
  const key = 'a-secret-of-some-length';
  const env = { DPP_BASE_URL: 'https://dpp.example.com', DPP_API_KEY: key, PIM_KEY: key, S3_ID: key, S3_KEY: key };

  it('the page on where files come from has examples for servers', () => {
    expect(examples.length).toBeGreaterThan(1);
  });

  it.each(examples)('the page on where files come from has a sound config (%#)', async (example) => {
    const files = { 'secrets/sftp_key': key };
    const text = example.replaceAll('/run/secrets/', './secrets/');
    const { sources, warnings } = await loadText(text, { env, files });
    expect(warnings).toEqual([]);
    for (const { options } of sources.flatMap(({ streams }) => streams)) {
      const stream = z.object(FILE_STREAM).parse(options);
      const location = locate(stream.path, (path) => `/config/${path}`);
      expect(location.server).not.toBeNull();
      expect(() => assertSettings(stream, location)).not.toThrow();
    }
  });

  it('the page on where files come from mentions every option', () => {
    const schemas = z.toJSONSchema(z.object({ ...FILE_SOURCE, ...FILE_STREAM }), { io: 'input' });
    const names = namesIn(schemas);
    expect(names).toContain('secretAccessKey');
    for (const name of names) expect(page, name).toMatch(new RegExp(`\`${name}[\`:]`));
  });
});
