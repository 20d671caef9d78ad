import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/** Puts this repository's SDK into the `node_modules` of a folder. It uses the sources, so no build is needed. */
export function installSdk(folder: string): void {
  const home = join(folder, 'node_modules/dpp-sync');
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  symlinkSync(join(ROOT, 'src'), join(home, 'src'));
  const exports = { './sdk': './src/sdk/index.ts', './sdk/testing': './src/sdk/testing/index.ts' };
  writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'dpp-sync', type: 'module', exports }));
}
