// Each config that a page shows loads without a problem, and its mappings compile. Where a page shows a part of a config, the rest is added.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { Profile } from '../../../src/domain/profile.ts';
import { hashPassword } from '../../../src/lib/password-hash.ts';
import { compileMappings } from '../../../src/pipeline/mapping/compile-mappings.ts';
import { type Block, blocks, ROOT } from '../../support/docs/docs-pages.ts';
import { loadText, SOUND_CONFIG } from '../../support/worlds/config-folder.ts';

/** Blocks of YAML that are no config of dpp-sync, by a text in them, with the reason. */
const OTHER_YAML: Record<string, string> = {
  'scrape_configs:': 'It is a config of Prometheus.',
  'extends: default': 'It is a profile, which the test below reads.',
  'cases:\n':
    'It has cases of mappings, which test/integration/cli/followed-pages.test.ts and test/install/connector-new.test.ts run.',
  'storage: ./uuid.db': 'It has the settings of a sandbox, which test/unit/sandbox/sandbox-docs.test.ts loads.',
};
/** Configs that need files or servers that do not exist here, by a text in them, with the reason. */
const NOT_LOADED: Record<string, string> = {
  'connector: ./connector.ts':
    'It names the connector of the page; test/install/installed.test.ts writes both and syncs.',
};
const SECRET = 'a-secret-of-some-length';
const HASH = await hashPassword(SECRET);
/** Modules and lookup files that examples name. */
const FILES = {
  'mappings/assembly.ts': moduleOnPage('docs/mapping-reference.md'),
  'lookups/states.csv': 'code,word\n1,ACTIVE\n',
  'countries.csv': 'key,value\nGermny,DE\n',
  'colours.csv': 'key,value,code,name\nR,red,R,red\n',
};

/** The module that a page shows, with the SDK of this repository. */
function moduleOnPage(page: string): string {
  const module = blocks.find((block) => block.page === page && block.language === 'ts')?.text ?? '';
  return module.replace("'dpp-sync/sdk'", JSON.stringify(join(ROOT, 'src/sdk/index.ts')));
}

type Part = Record<string, unknown>;
const BASE = parse(SOUND_CONFIG) as Part & { sources: [Part & { mappings: [Part] }] };
const SOURCE = BASE.sources[0];

/** The whole config of which a block shows a part: the top of a config, keys of a source, or keys of a mapping. */
function completed(text: string): string {
  const documents = parse(text) as Part | Part[];
  const part = Array.isArray(documents) ? { mappings: documents } : documents;
  if ('target' in part && 'sources' in part) return text;
  const names = Object.keys(part);
  const isIn = (known: readonly string[]) => names.every((name) => known.includes(name));
  if (isIn(['lookups', 'units', 'mappings', 'guard', 'pause', 'omit', 'onMissing', 'streams', 'options']))
    return stringify({ ...BASE, sources: [withStreams({ ...SOURCE, ...part })] });
  if (isIn(['rules', 'onIssue', 'when', 'each', 'fields']))
    return stringify({ ...BASE, sources: [{ ...SOURCE, mappings: [{ ...SOURCE.mappings[0], ...part }] }] });
  if (!('sources' in part)) return stringify({ ...BASE, ...part });
  const sources = (part['sources'] as Part[]).map((source) => withStreams({ ...SOURCE, ...source }));
  return stringify({ ...BASE, ...part, sources });
}

/** A source with each stream that its mappings and lookup tables name. */
function withStreams(source: Part): Part {
  const { mappings = [], lookups = {}, streams } = source as { mappings?: Part[]; lookups?: Part; streams?: Part };
  const named = [...mappings, ...Object.values(lookups as Record<string, Part>)].flatMap(({ stream, source: of }) =>
    typeof stream === 'string' && of === undefined ? [stream] : [],
  );
  if (streams === undefined && named.length === 0) return source;
  const { path: _, key: __, ...options } = source['options'] as Part;
  const usual = Object.fromEntries(named.map((name) => [name, { path: `${name}.csv`, key: ['id'] }]));
  return { ...source, options, streams: streams ?? usual };
}

/** The config with its secrets beside it, and every variable that it names. */
function settingsOf(text: string) {
  const local = text.replaceAll('file:/run/secrets/', 'file:./secrets/').replaceAll(/\$scrypt\$[^"\s]*…/g, HASH);
  const named = (pattern: RegExp) => [...local.matchAll(pattern)].map(([, name = '']) => [name, valueFor(name)]);
  const files = named(/\$\{file:(?:\.\/)?([\w./]+)\}/g);
  return {
    local,
    env: Object.fromEntries(named(/\$\{([A-Z\d_]+)\}/g)),
    files: { ...FILES, ...Object.fromEntries(files) },
  };
}

function valueFor(name: string): string {
  if (/url$|webhook$/i.test(name)) return 'https://dpp.example.com';
  return name.endsWith('_password') ? HASH : SECRET;
}

async function problemsOf(text: string): Promise<unknown> {
  const { local, env, files } = settingsOf(completed(text));
  const config = await loadText(local, { env, files });
  for (const { id, mappings, lookups, units } of config.sources) {
    const compiled = await compileMappings({
      source: id,
      definitions: mappings,
      baseDir: config.folder,
      lookups,
      units,
    });
    if (!compiled.ok) return compiled.error;
  }
  return config.warnings;
}

const yaml = blocks.filter(({ language, text }) => language === 'yaml' && !isListed({ text }, OTHER_YAML));
const loaded = yaml
  .filter((block) => !isListed(block, NOT_LOADED))
  .map((block) => ({ ...block, where: `${block.page}:${block.line}` }));

function isListed({ text }: Pick<Block, 'text'>, list: Record<string, string>): boolean {
  return Object.keys(list).some((part) => text.includes(part));
}

describe('the configs on pages', () => {
  it('the configs on pages are many, and each exception is there', () => {
    expect(loaded.length).toBeGreaterThan(25);
    for (const part of Object.keys({ ...OTHER_YAML, ...NOT_LOADED }))
      expect(
        blocks.some(({ text }) => text.includes(part)),
        part,
      ).toBe(true);
  });

  it('a config on a page is refused where a key or an expression is wrong', async () => {
    await expect(problemsOf('wbe: { port: 80 }')).rejects.toThrow();
    expect(
      await problemsOf('mappings: [{ to: product, key: row.a, fields: { sku: row.a, name: nmae(row.b) } }]'),
    ).not.toEqual([]);
  });

  it('the profiles on pages are profiles', () => {
    const profiles = blocks.filter(({ language, text }) => language === 'yaml' && text.startsWith('extends: default'));
    expect(profiles.length).toBeGreaterThan(0);
    for (const { text } of profiles) Profile.parse(parse(text.replace('extends: default', '')));
  });

  it.each(loaded)('the config at $where has no problem', async ({ text }) => {
    expect(await problemsOf(text)).toEqual([]);
  });
});
