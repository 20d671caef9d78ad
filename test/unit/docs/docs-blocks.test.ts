// Each block of code on a page is run or validated by a test. test/unit/docs/docs-commands.test.ts takes the commands, test/unit/docs/docs-configs.test.ts
// the configs. This file takes JSON and units of systemd, and knows which test takes the rest.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Block, blocks, pages, ROOT } from '../../support/docs/docs-pages.ts';

/** A test that takes blocks of one language from pages. */
interface Reader {
  page: RegExp;
  languages: readonly string[];
  test: string;
  /** True if the test takes only files, which have their path on the line before. */
  filesOnly?: boolean;
}

const READERS: readonly Reader[] = [
  { page: /./, languages: ['sh', 'console'], test: 'test/unit/docs/docs-commands.test.ts' },
  { page: /./, languages: ['yaml'], test: 'test/unit/docs/docs-configs.test.ts' },
  { page: /./, languages: ['ini'], test: 'test/unit/docs/docs-blocks.test.ts' },
  { page: /^docs\/cli\.md$/, languages: ['json'], test: 'test/unit/docs/docs-blocks.test.ts' },
  {
    page: /^docs\/getting-started\.md$/,
    languages: ['csv'],
    test: 'test/install/installed.test.ts',
    filesOnly: true,
  },
  {
    page: /^docs\/(?:ci|plan)\.md$/,
    languages: ['csv'],
    test: 'test/integration/cli/followed-pages.test.ts',
    filesOnly: true,
  },
  {
    page: /^docs\/mapping\.md$/,
    languages: ['csv', 'json', 'text'],
    test: 'test/integration/mapping/mapping-examples.test.ts',
  },
  { page: /^docs\/mapping-reference\.md$/, languages: ['ts'], test: 'test/unit/docs/docs-configs.test.ts' },
  { page: /^docs\/ledger-sql\.md$/, languages: ['sql'], test: 'test/integration/ledger/ledger-sql.test.ts' },
  { page: /^docs\/daemon\.md$/, languages: ['nginx'], test: 'test/integration/web/proxy-login.test.ts' },
  { page: /^docs\/queues\.md$/, languages: ['text'], test: 'test/processes/queue/redis-queues.test.ts' },
  {
    page: /^docs\/connectors\/writing\.md$/,
    languages: ['ts', 'xml'],
    test: 'test/install/connector-new.test.ts',
    filesOnly: true,
  },
  {
    page: /^docs\/connectors\/(?!writing|files)[\w-]+\.md$/,
    languages: ['', 'csv', 'json', 'sql', 'xml'],
    test: 'test/integration/connectors/connector-pages.test.ts',
    filesOnly: true,
  },
];

/** Blocks that only show something, by a text in them, with the reason. */
const SHOWN: Record<string, string> = {
  'The passport of A-3 is not published': 'It is an answer of `why`, which test/integration/cli/cli-why.test.ts tests.',
  'oidc_issuer_url = ': 'It is a config of oauth2-proxy.',
};

function readerOf({ page, language, file }: Block): Reader | undefined {
  return READERS.find(
    ({ page: read, languages, filesOnly = false }) =>
      read.test(page) && languages.includes(language) && (!filesOnly || file !== null),
  );
}

function isOnlyShown({ language, text }: Pick<Block, 'language' | 'text'>): boolean {
  return language === 'mermaid' || Object.keys(SHOWN).some((part) => text.includes(part));
}

describe('the blocks of code on pages', () => {
  it('the blocks of code on pages are all found, also those within lists', () => {
    const missed = pages.flatMap(({ path, text }) => {
      const fences = [...text.matchAll(/^[ >\t]*(?:`{3}|~{3})/gm)].length;
      return fences === 2 * blocks.filter(({ page }) => page === path).length ? [] : [path];
    });
    expect(missed).toEqual([]);
  });

  it('the blocks of code on pages are all taken by a test', () => {
    const untaken = blocks.filter((block) => !isOnlyShown(block) && readerOf(block) === undefined);
    expect(untaken.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
    for (const part of Object.keys(SHOWN)) expect(blocks.filter(({ text }) => text.includes(part))).toHaveLength(1);
  });

  it('the blocks of code on pages are taken by tests that exist, and that still take blocks', () => {
    for (const reader of READERS) {
      expect(existsSync(join(ROOT, reader.test)), reader.test).toBe(true);
      expect(
        blocks.some((block) => readerOf(block) === reader),
        `${reader.page} ${reader.languages.join(', ')}`,
      ).toBe(true);
    }
  });

  it('a block of another kind on a page is found to be taken by no test', () => {
    const block = { page: 'docs/cli.md', line: 1, language: 'csv', text: 'a\n', file: null };
    expect(readerOf(block)).toBeUndefined();
    expect(readerOf({ ...block, page: 'docs/getting-started.md' })).toBeUndefined();
    expect(readerOf({ ...block, page: 'docs/getting-started.md', file: 'a.csv' })).toBeDefined();
  });
});

const ofLanguage = (language: string, page?: string) =>
  blocks
    .filter((block) => block.language === language && (page === undefined || block.page === page))
    .map((block) => ({ ...block, where: `${block.page}:${block.line}` }));

it.each(ofLanguage('json', 'docs/cli.md'))('the block at $where is JSON, or members of it', ({ text }) => {
  const document = text.trimStart().startsWith('{') ? text : `{${text}}`;
  expect(JSON.parse(document)).toBeTypeOf('object');
});

/** The settings of systemd that pages name. A typing error in a setting is a warning of systemd alone, so it is looked for here. */
const SYSTEMD =
  'Description After Wants Type User WorkingDirectory ExecStart ExecReload Restart RestartSec TimeoutStopSec WantedBy NoNewPrivileges ProtectSystem ProtectHome PrivateTmp PrivateDevices ReadWritePaths RestrictAddressFamilies CapabilityBoundingSet UMask'.split(
    ' ',
  );

it.each(ofLanguage('ini'))('the block at $where has settings that systemd knows', ({ text }) => {
  for (const line of text.trim().split('\n').filter(Boolean)) {
    if (/^\[(?:Unit|Service|Install)\]$/.test(line)) continue;
    expect(SYSTEMD).toContain(/^(\w+)=/.exec(line)?.[1]);
  }
});

it('the unit of docs/installing.md starts the program of the package', () => {
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  const [, program] =
    /^ExecStart=\S+\/node_modules\/\.bin\/(\S+) start -c /m.exec(ofLanguage('ini')[0]?.text ?? '') ?? [];
  expect(Object.keys(bin)).toContain(program);
});
