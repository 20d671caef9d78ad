import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GETTING_STARTED, gettingStarted } from '../generate/getting-started.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../..', GETTING_STARTED), 'utf8');

it('docs/getting-started.md shows what its commands print, one after the other (else: npm run generate)', async () => {
  expect(await gettingStarted()).toBe(PAGE);
});

it('docs/getting-started.md ends its walks with published passports', () => {
  expect(PAGE.match(/^✓ 3 passports are published\.$/gm)).toHaveLength(2);
});
