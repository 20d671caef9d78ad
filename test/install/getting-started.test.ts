import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GETTING_STARTED } from '../generate/getting-started.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, GETTING_STARTED), 'utf8');

it('docs/getting-started.md ends its walks with published passports', () => {
  expect(PAGE.match(/^✓ [23] passports are published\.$/gm)).toHaveLength(3);
});

it('docs/getting-started.md makes dpp-sync a command in every folder', () => {
  const [line = ''] = /^export PATH="\$PWD\/src.*$/m.exec(PAGE) ?? [];
  const script = `${line}\ncd ${tmpdir()}\ndpp-sync --version`;
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  expect(execFileSync('bash', ['-c', script], { cwd: ROOT, encoding: 'utf8' })).toBe(`${version}\n`);
});
