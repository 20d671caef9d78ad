import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GETTING_STARTED, gettingStarted } from '../generate/getting-started.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../..', GETTING_STARTED), 'utf8');

it('docs/getting-started.md shows what its commands print, one after the other (else: npm run generate)', async () => {
  expect(await gettingStarted()).toBe(PAGE);
});

it('docs/getting-started.md ends its walks with published passports', () => {
  expect(PAGE.match(/^✓ [23] passports are published\.$/gm)).toHaveLength(3);
});

it('docs/getting-started.md has the section on several files that init names', () => {
  expect(PAGE).toContain('"Join several files" in docs/getting-started.md\n```');
  expect(PAGE).toMatch(/^## \d+\. Join several files$/m);
});
