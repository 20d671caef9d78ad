import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadBuiltIn } from '../../connectors/index.ts';
import { assertSettings } from '../../src/sdk/files/acknowledge-files.ts';
import { FILE_SOURCE, FILE_STREAM } from '../../src/sdk/files/file-options.ts';
import { locate } from '../../src/sdk/files/location.ts';

const connectors = await loadBuiltIn();
const page = readFileSync(join(import.meta.dirname, '../../docs/connectors/files.md'), 'utf8');

const Sources = z.object({
  sources: z.array(
    z.object({
      connector: z.string(),
      options: z.record(z.string(), z.json()),
      streams: z.record(z.string(), z.looseObject({ path: z.string() })),
    }),
  ),
});

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
  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => Sources.parse(parse(match[1] ?? '')));

  it('has examples that the connectors accept', () => {
    expect(examples.length).toBeGreaterThan(1);
    for (const { connector: id, options, streams } of examples.flatMap(({ sources }) => sources)) {
      const connector = connectors.find((one) => one.id === id);
      expect(connector?.options.safeParse(options)).toMatchObject({ success: true });
      for (const { key: _, ...stream } of Object.values(streams)) {
        expect(connector?.streamOptions.safeParse(stream)).toMatchObject({ success: true });
        const location = locate(stream.path, (path) => `/config/${path}`);
        expect(() => assertSettings(z.object(FILE_STREAM).parse(stream), location)).not.toThrow();
      }
    }
  });

  it('mentions every option', () => {
    const schemas = z.toJSONSchema(z.object({ ...FILE_SOURCE, ...FILE_STREAM }), { io: 'input' });
    const names = namesIn(schemas);
    expect(names).toContain('secretAccessKey');
    for (const name of names) expect(page, name).toMatch(new RegExp(`\`${name}[\`:]`));
  });
});
