import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { removeFolder } from '../../support/machine/remove-folder.ts';

const CHILD = join(import.meta.dirname, 'no-descriptors-child.ts');

it('a ledger that cannot be opened for want of file descriptors is no trouble of the disk', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-descriptors-'));
  onTestFinished(() => removeFolder(folder));
  const limited = ['-c', 'ulimit -n 120 && exec "$@"', 'sh', process.execPath, CHILD, folder];
  const { stdout } = await promisify(execFile)('sh', limited);
  const thrown = JSON.parse(stdout) as { use: string; free: number; error: unknown }[];
  const failed = thrown.filter(({ error }) => error !== null);
  // Every use needs at least one descriptor.
  expect(new Set(failed.map(({ use }) => use))).toEqual(new Set(['new', 'write', 'read', 'backup']));
  for (const { error } of failed) {
    expect(error).toEqual({
      code: 'ledger.unwritable',
      message: expect.stringMatching(
        /^The ledger(?: \S+\/(?:ledger|new)\.db)? cannot be used: This process has as many files and connections open as it may \(EMFILE\)\.$/,
      ) as unknown,
      suggestion: expect.stringMatching(/^Raise its limit: `ulimit -n`/) as unknown,
    });
  }
});
