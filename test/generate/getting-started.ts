import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followPage } from '../support/docs/page-session.ts';

const ROOT = join(import.meta.dirname, '../..');
export const GETTING_STARTED = 'docs/getting-started.md';

/** docs/getting-started.md with the present output of its commands, which run from the sources. */
export async function gettingStarted(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-getting-started-'));
  try {
    const page = readFileSync(join(ROOT, GETTING_STARTED), 'utf8');
    return await followPage(page, { folder, launcher: join(ROOT, 'src/launcher.mjs') });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
