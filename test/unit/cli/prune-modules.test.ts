import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

const SCRIPT = join(import.meta.dirname, '../../../src/prune-modules.ts');

function pruned(files: string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-prune-'));
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), '');
  }
  execFileSync(process.execPath, [SCRIPT, folder]);
  const left = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  rmSync(folder, { recursive: true });
  return left.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).toSorted();
}

it('pruning of modules removes what no program reads, and nothing else', () => {
  const kept = ['a/index.js', 'a/index.mjs', 'a/data.json', 'a/treasure.map', 'a/LICENSE', '@b/c/d.css', '@b/c/chart'];
  const removed = ['a/index.d.ts', 'a/index.d.mts', 'a/index.js.map', '@b/c/d.css.map', 'a/src/x.cpp', 'a/binding.gyp'];
  expect(pruned([...kept, ...removed])).toEqual(kept.toSorted());
});

it('pruning of modules keeps the native ones of the platform that runs it, whether named by files or by folders', () => {
  const { glibcVersionRuntime } = (process.report.getReport() as { header: Record<string, string> }).header;
  const musl = process.platform === 'linux' && glibcVersionRuntime === undefined ? 'musl' : '';
  const here = `${process.platform}${musl}-${process.arch}`;
  const of = (platform: string) => [`a/prebuilds/${platform}.node`, `b/prebuilds/${platform}/b.node`];
  const others = ['win32-arm64', 'sunos-x64', 'linuxmusl-riscv64'].flatMap(of);
  expect(pruned([...of(here), ...others, 'c/build/c.node'])).toEqual([...of(here), 'c/build/c.node']);
});
