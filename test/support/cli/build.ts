import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** Builds this repository into a folder, as `npm run build` does into `dist`. */
export function buildInto(folder: string): void {
  const rolldown = join(ROOT, 'node_modules/rolldown/bin/cli.mjs');
  execFileSync(process.execPath, [rolldown, '-c', join(ROOT, 'rolldown.config.ts'), '--dir', folder], { cwd: ROOT });
}
