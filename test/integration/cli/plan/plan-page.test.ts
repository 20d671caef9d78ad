import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { followPage } from '../../../support/docs/page-session.ts';

const ROOT = join(import.meta.dirname, '../../../..');

it('docs/plan.md shows what its commands print', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-plan-page-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const page = readFileSync(join(ROOT, 'docs/plan.md'), 'utf8');
  expect(await followPage(page, { folder, launcher: join(ROOT, 'src/launcher.mjs') })).toBe(page);
});
