import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { followPage } from '../../support/docs/page-session.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

const ROOT = join(import.meta.dirname, '../../..');

it.each(['docs/ci.md', 'docs/plan.md', 'docs/tests.md'])('%s shows what its commands print', async (path) => {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-page-'));
  onTestFinished(() => removeFolder(folder));
  const page = readFileSync(join(ROOT, path), 'utf8');
  expect(await followPage(page, { folder, launcher: join(ROOT, 'src/launcher.mjs') })).toBe(page);
});
