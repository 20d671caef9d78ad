import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeFolder, makeFolderSync } from '../../../src/lib/files.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/connectors/connector-reader.ts';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder({ file: '' });
});
afterEach(() => folder[Symbol.asyncDispose]());

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe.each([
  ['with a promise', makeFolder],
  ['at once', async (path: string, mode?: number) => void makeFolderSync(path, mode)],
])('a folder that is made %s', (how, make) => {
  it(`a folder is made ${how} with those above it, each with its mode, and may exist already`, async () => {
    const path = join(folder.path, 'a', 'b', 'c');
    await make(path, 0o700);
    await make(path, 0o700);
    expect([path, join(path, '..'), join(path, '../..')].map(modeOf)).toEqual([0o700, 0o700, 0o700]);
  });

  it(`a folder is made ${how} once by two calls at the same time`, async () => {
    const path = join(folder.path, 'a', 'b');
    await Promise.all([make(path), make(path), make(path)]);
    expect(statSync(path).isDirectory()).toBe(true);
  });

  it(`a folder below a file is an error that names the file, ${how}`, async () => {
    await expect(make(join(folder.path, 'file', 'x'))).rejects.toMatchObject({
      code: 'ENOTDIR',
      path: join(folder.path, 'file', 'x'),
    });
    await expect(make(join(folder.path, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
  });

  it.skipIf(!existsSync('/proc/self'))(
    `a file system that refuses folders with ENOENT is an error and no endless loop, ${how}`,
    async () => {
      await expect(make('/proc/dpp-sync/x')).rejects.toMatchObject({ code: 'ENOENT', path: '/proc/dpp-sync' });
    },
  );
});

it('the uppermost folder that was made is returned', () => {
  expect(makeFolderSync(join(folder.path, 'a', 'b', 'c'))).toBe(join(folder.path, 'a'));
  expect(makeFolderSync(join(folder.path, 'a', 'x'))).toBe(join(folder.path, 'a', 'x'));
  expect(makeFolderSync(join(folder.path, 'a'))).toBeUndefined();
});
