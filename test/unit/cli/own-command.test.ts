import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ownCommand } from '../../../src/cli/own-command.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'dpp-own-')));
afterAll(() => removeFolder(folder));

const root = join(folder, 'checkout');
const launcher = join(root, 'src/launcher.mjs');
const bin = join(folder, 'bin');
const local = join(folder, 'my project/node_modules/.bin');
mkdirSync(join(root, 'src'), { recursive: true });
for (const file of [launcher, join(root, 'src/main.ts')]) writeFileSync(file, '');
for (const one of [bin, local]) {
  mkdirSync(one, { recursive: true });
  symlinkSync(launcher, join(one, 'dpp-sync'));
}

describe('the command that starts the program again', () => {
  it.each([
    { where: 'in a checkout', file: launcher, cwd: root, expected: 'npm run -s dpp-sync --' },
    { where: 'beside a checkout', file: launcher, cwd: folder, expected: 'node checkout/src/launcher.mjs' },
    { where: 'with the bin in the PATH', file: join(bin, 'dpp-sync'), path: `/none:${bin}`, expected: 'dpp-sync' },
    { where: 'with the launcher that the PATH leads to', file: launcher, path: bin, cwd: bin, expected: 'dpp-sync' },
    {
      where: 'in a folder with an installed package',
      file: join(local, 'dpp-sync'),
      cwd: join(folder, 'my project'),
      path: local,
      byPackageManager: true,
      expected: 'node_modules/.bin/dpp-sync',
    },
    {
      where: 'with the folder of an installed package in the PATH of the shell',
      file: join(local, 'dpp-sync'),
      path: local,
      expected: 'dpp-sync',
    },
    {
      where: 'elsewhere than the installed package',
      file: join(local, 'dpp-sync'),
      cwd: bin,
      expected: `'${local}/dpp-sync'`,
    },
    { where: 'in the folder of the bin itself', file: join(bin, 'dpp-sync'), cwd: bin, expected: './dpp-sync' },
  ])(
    'the command that starts the program again $where is $expected',
    ({ file, cwd = folder, path = '', byPackageManager = false, expected }) => {
      expect(ownCommand({ file, cwd, path, byPackageManager, root })).toBe(expected);
    },
  );
});
