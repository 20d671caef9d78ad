import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTemporaryFiles } from '../../../src/sdk/files/temporary-files.ts';
import { temporaryFolder } from '../../support/connectors/connector-reader.ts';

describe('temporary files', () => {
  it('temporary files can be read by their owner alone, and are gone at the end', async () => {
    await using folder = await temporaryFolder();
    const files = createTemporaryFiles(folder.path);
    const file = await files.create();
    const other = await files.create();
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect(statSync(join(file.path, '..')).mode & 0o777).toBe(0o700);
    await other.remove();
    expect(readdirSync(join(file.path, '..'))).toHaveLength(1);
    await files.close();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('temporary files make no folder where none is needed', async () => {
    await using folder = await temporaryFolder();
    await createTemporaryFiles(folder.path).close();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('temporary files of a process that was killed are removed by the next one that makes any', async () => {
    await using folder = await temporaryFolder();
    const module = join(import.meta.dirname, '../../../src/sdk/files/temporary-files.ts');
    const script = `const { createTemporaryFiles } = await import(${JSON.stringify(module)});
      await createTemporaryFiles(${JSON.stringify(folder.path)}).create();
      process.kill(process.pid, 'SIGKILL');`;
    const killed = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(killed.signal).toBe('SIGKILL');
    expect(readdirSync(folder.path)).toHaveLength(1);
    const files = createTemporaryFiles(folder.path);
    await files.create();
    expect(readdirSync(folder.path)).toHaveLength(1);
    await files.close();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('temporary files of others stay: of a process that lives, of another host, and with another name', async () => {
    await using folder = await temporaryFolder();
    const own = createTemporaryFiles(folder.path);
    await own.create();
    const [name = ''] = readdirSync(folder.path);
    const others = [
      name.replace(`-${process.pid}-`, `-${process.ppid}-`),
      'dpp-sync-files-another-host-999999999-1-abcdef',
      `dpp-sync-files-${hostname()}`,
    ];
    for (const other of others) mkdirSync(join(folder.path, other));
    // A process of this id has ended, but the name is that of a file.
    writeFileSync(join(folder.path, `dpp-sync-files-${hostname()}-999999999-1-abcdef`), '');
    const next = createTemporaryFiles(folder.path);
    await next.create();
    await next.close();
    expect(readdirSync(folder.path).toSorted()).toEqual(
      [name, ...others, `dpp-sync-files-${hostname()}-999999999-1-abcdef`].toSorted(),
    );
    await own.close();
  });

  it('temporary files of an earlier process with the same id are removed, as in a container that was started again', async () => {
    await using folder = await temporaryFolder();
    mkdirSync(join(folder.path, `dpp-sync-files-${hostname()}-${process.pid}-1-abcdef`));
    const files = createTemporaryFiles(folder.path);
    await files.create();
    await files.close();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('temporary files that cannot be made are a fault that says what to do', async () => {
    await expect(createTemporaryFiles('/no/such/folder').create()).rejects.toMatchObject({
      code: 'source.unreadable',
      message: expect.stringContaining('No temporary file can be made in /no/such/folder'),
      suggestion: expect.stringContaining('`downloads.folder`'),
    });
  });
});
