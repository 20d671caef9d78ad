// Which links are followed where files are read by a pattern, and where they are archived.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findFiles } from '../../../src/sdk/files/find-files.ts';
import { openStored } from '../../../src/sdk/files/open-file.ts';
import { openParts } from '../../../src/sdk/files/open-parts.ts';
import { localVersionOf } from '../../../src/sdk/files/source-file.ts';
import { createTemporaryFiles } from '../../../src/sdk/files/temporary-files.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { type FileWorld, openFileWorld } from '../../support/worlds/file-world.ts';
import { OTHER_FILE_SYSTEM } from '../support/other-file-system.ts';

let folder: TemporaryFolder;
let world: FileWorld | undefined;
beforeEach(async () => {
  folder = await temporaryFolder();
  for (const name of ['exports', 'outside']) mkdirSync(at(name));
  put('outside/secret.csv', 'secret');
});
afterEach(async () => {
  await world?.close();
  world = undefined;
  await folder[Symbol.asyncDispose]();
});

const at = (name: string) => join(folder.path, name);
const put = (name: string, id: string) => writeFileSync(at(name), `id\n${id}\n`);
const link = (target: string, name: string) => symlinkSync(target, at(name));
async function stream(options: object): Promise<FileWorld> {
  world = await openFileWorld({ folder: folder.path, streams: { default: options } });
  return world;
}

describe('a link that a pattern finds', () => {
  it.each([
    ['to a file', 'exports/*.csv', () => link('../outside/secret.csv', 'exports/a.csv')],
    [
      'to a file, over a link in the folder',
      'exports/*.csv',
      () => {
        link('../outside', 'exports/.data');
        link('.data/secret.csv', 'exports/a.csv');
      },
    ],
    ['to a folder', 'exports/*/*.csv', () => link('../outside', 'exports/a')],
    [
      'to a folder, below a wildcard',
      'exports/*/in/secret.csv',
      () => {
        mkdirSync(at('exports/a'));
        link('../../outside', 'exports/a/in');
      },
    ],
    [
      'to a file beside the folder with a similar name',
      'exports/*.csv',
      () => {
        mkdirSync(at('exports-2'));
        put('exports-2/b.csv', '1');
        link('../exports-2/b.csv', 'exports/a.csv');
      },
    ],
  ])('a link that a pattern finds is refused if it leads out of the fixed folder: %s', async (_what, path, make) => {
    put('exports/x.csv', '1');
    make();
    const read = await stream({ path, files: 'all' });
    await expect(read.ids()).rejects.toMatchObject({
      message: expect.stringMatching(/is not read: it is a link that leads to .* only reads files in .*\/exports\.$/),
      suggestion: expect.stringContaining('write its path into the config'),
    });
    await expect(read.check()).rejects.toThrow('is not read: it is a link');
  });

  it.each([
    ['to a file that is gone', () => link('gone.csv', 'exports/a.csv'), 'gone.csv'],
    ['below a file', () => link('x.csv/a', 'exports/a.csv'), 'x.csv/a'],
    ['to itself', () => link('a.csv', 'exports/a.csv'), 'a.csv'],
  ])(
    'a link that a pattern finds is named with its target and the cure if it leads nowhere: %s',
    async (_, make, to) => {
      put('exports/x.csv', '1');
      make();
      const read = await stream({ path: 'exports/*.csv', files: 'all' });
      await expect(read.ids()).rejects.toMatchObject({
        message: expect.stringMatching(
          new RegExp(`exports/a\\.csv is not read: it is a link to ${to}, and there is no such file or folder\\.`),
        ),
        suggestion: expect.stringContaining('remove the link'),
      });
    },
  );

  it('a link that a pattern finds is refused as a semaphore too', async () => {
    put('exports/x.csv', '1');
    link('../outside/secret.csv', 'exports/x.csv.done');
    await expect((await stream({ path: 'exports/*.csv', done: '.done' })).ids()).rejects.toThrow(
      'x.csv.done is not read',
    );
  });

  it('a link that a pattern finds is read within the folder, as in a mounted ConfigMap', async () => {
    mkdirSync(at('exports/..2026_11_28'));
    put('exports/..2026_11_28/products.csv', '7');
    link('..2026_11_28', 'exports/..data');
    link('..data/products.csv', 'exports/products.csv');
    expect(await (await stream({ path: 'exports/*.csv' })).ids()).toEqual(['7']);
    // The fixed folder is in the config, so it may be a link itself.
    link('exports', 'mounted');
    expect(await (await stream({ path: 'mounted/*.csv' })).ids()).toEqual(['7']);
  });

  it('a link that the config names is read wherever it leads', async () => {
    link('../outside/secret.csv', 'exports/a.csv');
    expect(await (await stream({ path: 'exports/a.csv' })).ids()).toEqual(['secret']);
    link('../outside', 'exports/b');
    expect(await (await stream({ path: 'exports/b/*.csv' })).ids()).toEqual(['secret']);
  });

  it.each([
    ['itself', 'exports/a.csv', () => link('../gone/a.csv', 'exports/a.csv'), 'exports/a.csv'],
    ['its folder', 'mounted/a.csv', () => link('gone', 'mounted'), 'mounted'],
    ['its folder, by a pattern', 'mounted/*.csv', () => link('gone', 'mounted'), 'mounted'],
    ['a folder above', 'mounted/in/*.csv', () => link('gone', 'mounted'), 'mounted'],
  ])(
    'a path of the config is named with the link that leads nowhere, and is no absent file: %s',
    async (_, path, make, of) => {
      make();
      const read = await stream({ path, absent: 'skip' });
      await expect(read.ids()).rejects.toMatchObject({
        message: expect.stringMatching(new RegExp(`is not read: .*is a link to (\\.\\./)?gone`)),
        suggestion: expect.stringContaining('mount its volume'),
      });
      await expect(read.ids()).rejects.toThrow(of);
    },
  );

  it('a path of the config without a file is an absent file, below a link that leads to a folder too', async () => {
    link('outside', 'mounted');
    expect(await (await stream({ path: 'mounted/a.csv', absent: 'skip' })).ids()).toBe('nothing new');
  });

  it('a link that takes the place of a file after it was found is refused when the file is open', async () => {
    put('exports/a.csv', '1');
    const [found] = await findFiles({ pattern: at('exports/*.csv'), select: 'all', resolvePath: (path) => path });
    if (found === undefined) throw new Error('No file was found.');
    renameSync(at('exports/a.csv'), at('exports/away'));
    link('../outside/secret.csv', 'exports/a.csv');
    // Somebody who exchanges the two quickly enough gets the metadata of one and the path of the other.
    const stats = statSync(at('outside/secret.csv'), { bigint: true });
    const swapped = { ...found, bytes: Number(stats.size), version: localVersionOf(stats) };
    await expect(openStored(swapped)).rejects.toThrow('is not read: it is a link that leads to');
  });

  it.skipIf(!existsSync('/proc/self/fd'))('a file that is read by its path is the one that was checked', async () => {
    put('exports/a.csv', '1');
    const [found] = await findFiles({ pattern: at('exports/*.csv'), select: 'all', resolvePath: (path) => path });
    if (found?.bytes === undefined || found.bytes === null) throw new Error('No file was found.');
    const limits = { maxBytes: 1000, maxRatio: 10, maxEntries: 10 } as never;
    const temporary = createTemporaryFiles(undefined);
    for await (const { file } of openParts(
      { ...found, bytes: found.bytes },
      { entry: '*', limits, temporary, document: undefined },
    )) {
      const path = await file.localPath(new AbortController().signal);
      renameSync(at('exports/a.csv'), at('exports/away'));
      link('../outside/secret.csv', 'exports/a.csv');
      expect(readFileSync(path, 'utf8')).toBe('id\n1\n');
    }
    await temporary.close();
  });
});

describe('a link in the archive', () => {
  it('a link in the archive does not lead files out of it', async () => {
    mkdirSync(at('exports/a'));
    put('exports/a/x.csv', '1');
    mkdirSync(at('archive'));
    link('../outside', 'archive/a');
    const read = await stream({ path: 'exports/*/x.csv', after: 'archive', archive: 'archive' });
    await read.ids();
    await expect(read.acknowledge()).rejects.toThrow('exports/a/x.csv is not archived: ');
    expect([readdirSync(at('outside')), readdirSync(at('exports/a'))]).toEqual([['secret.csv'], ['x.csv']]);
  });

  it.skipIf(OTHER_FILE_SYSTEM === null)(
    'a link in the archive with the name of an incomplete copy is not followed (needs another file system)',
    async () => {
      const archive = join(OTHER_FILE_SYSTEM ?? '', `dpp-sync-linked-${process.pid}`);
      mkdirSync(archive);
      try {
        put('exports/x.csv', '1');
        symlinkSync(at('outside/secret.csv'), join(archive, 'x.csv.part'));
        const read = await stream({ path: 'exports/*.csv', after: 'archive', archive });
        await read.ids();
        await read.acknowledge();
        expect(readFileSync(at('outside/secret.csv'), 'utf8')).toBe('id\nsecret\n');
        expect(readdirSync(archive)).toEqual(['x.csv']);
        expect(readFileSync(join(archive, 'x.csv'), 'utf8')).toBe('id\n1\n');
      } finally {
        await removeFolder(archive);
      }
    },
  );
});
