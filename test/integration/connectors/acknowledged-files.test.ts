// Which files are read, and what happens to them afterwards: semaphores, a second check, archiving and deleting.

import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { csv } from '../../../connectors/csv/index.ts';
import { FILE_STREAM } from '../../../src/sdk/files/file-options.ts';
import type { FileStore } from '../../../src/sdk/files/file-store.ts';
import { findReady } from '../../../src/sdk/files/find-files.ts';
import { createLocalStore } from '../../../src/sdk/files/local-store.ts';
import { type Location, locate } from '../../../src/sdk/files/location.ts';
import type { Connector, Page } from '../../../src/sdk/index.ts';
import { readPages, type TemporaryFolder, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { type FileWorld, openFileWorld } from '../../support/worlds/file-world.ts';
import { OTHER_FILE_SYSTEM } from '../support/other-file-system.ts';

let folder: TemporaryFolder;
let world: FileWorld | undefined;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await world?.close();
  world = undefined;
  await folder[Symbol.asyncDispose]();
});

/** Writes a file with one record. Files of a later day are newer. */
async function put(name: string, id: number | string, day = 1): Promise<void> {
  const path = join(folder.path, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `id\n${id}\n`);
  const at = new Date(Date.UTC(2026, 0, day));
  await utimes(path, at, at);
}

async function open(streams: Record<string, object>): Promise<FileWorld> {
  await world?.close();
  world = await openFileWorld({ folder: folder.path, streams });
  return world;
}
const stream = (options: object) => open({ default: { path: '*.csv', ...options } });
const there = (below = '') => readdirSync(join(folder.path, below)).toSorted();

describe('a semaphore', () => {
  it('a semaphore holds a file until the semaphore is there and not older', async () => {
    await put('x.csv', 1, 2);
    const read = await stream({ done: '.done' });
    expect(await read.ids()).toBe('nothing new');
    await put('x.csv.done', '', 1);
    expect(await read.ids()).toBe('nothing new');
    expect(read.log).toEqual([
      `${folder.path}/x.csv is not read yet: its semaphore x.csv.done is not there.`,
      `${folder.path}/x.csv is not read yet: its semaphore x.csv.done is older than the file.`,
    ]);
    await put('x.csv.done', '', 2);
    expect(await read.ids()).toEqual(['1']);
  });

  it('a semaphore is no file of the stream itself', async () => {
    await put('x.csv', 1);
    await put('x.csv.done', '');
    expect(await (await stream({ path: 'x*', done: '.done' })).ids()).toEqual(['1']);
  });

  it('a missing semaphore makes the pull fail where the config asks for that', async () => {
    await put('x.csv', 1);
    const failing = (await stream({ done: '.done', absent: 'fail' })).ids();
    await expect(failing).rejects.toMatchObject({
      message: `${folder.path}/x.csv is not read yet: its semaphore x.csv.done is not there.`,
      suggestion: expect.stringContaining('absent: skip'),
    });
  });

  it('a semaphore holds a whole snapshot, since the records of one file would count as missing without it', async () => {
    await put('a.csv', 1);
    await put('b.csv', 2);
    await put('a.csv.done', '', 2);
    const read = await stream({ done: '.done' });
    expect(await read.ids()).toBe('nothing new');
    await put('b.csv.done', '', 2);
    expect(await read.ids()).toEqual(['1', '2']);
  });

  it('a semaphore holds the changes behind it, since changes stay in their order', async () => {
    await put('a.csv', 1, 1);
    await put('b.csv', 2, 2);
    await put('c.csv', 3, 3);
    for (const name of ['a', 'c']) await put(`${name}.csv.done`, '', 4);
    const read = await stream({ done: '.done', contents: 'changes' });
    expect(await read.ids()).toEqual(['1']);
    await put('b.csv.done', '', 4);
    expect(await read.ids()).toEqual(['1', '2', '3']);
  });

  it('files of changes are read in the order of their times and then of their names', async () => {
    await put('a.csv', 1, 2);
    await put('c.csv', 3, 1);
    await put('b.csv', 2, 1);
    expect(await (await stream({ contents: 'changes' })).ids()).toEqual(['2', '3', '1']);
  });

  it('small files of changes share a page, since each page with its cursor is a transaction', async () => {
    for (let id = 1; id <= 20; id += 1) await put(`${id}.csv`, id, id);
    const read = await stream({ contents: 'changes' });
    const [page, ...others] = await read.pages();
    expect(page?.rows).toHaveLength(20);
    expect(others).toEqual([]);
    expect(await read.ids('default', { cursor: page?.cursor ?? null })).toBe('nothing new');
  });

  it('small files of changes before one that cannot be read are given, with the cursor after them', async () => {
    for (let id = 1; id <= 3; id += 1) await put(`${id}.csv`, id, id);
    await writeFile(join(folder.path, '4.csv'), '');
    const setup = { folder: folder.path, stream: { path: '*.csv', contents: 'changes' }, mode: 'changes' as const };
    const pages: Page[] = [];
    const reading = async () => {
      for await (const page of readPages(csv as Connector, setup)) pages.push(page);
    };
    await expect(reading()).rejects.toThrow('4.csv has no header row: it is empty.');
    expect(pages.flatMap(({ rows }) => rows.map(({ fields }) => fields['id']))).toEqual(['1', '2', '3']);
    await put('4.csv', 4, 4);
    const read = await stream({ contents: 'changes' });
    expect(await read.ids('default', { cursor: pages.at(-1)?.cursor ?? null })).toEqual(['4']);
  });

  it('a missing semaphore lets the latest complete file be read', async () => {
    await put('a.csv', 1, 1);
    await put('a.csv.done', '', 1);
    await put('b.csv', 2, 2);
    expect(await (await stream({ done: '.done', files: 'latest' })).ids()).toEqual(['1']);
  });
});

describe('a second look', () => {
  const FileStream = z.strictObject(FILE_STREAM);

  /** A store where a file is written to between two looks. */
  function busyStore(location: Location, write: () => Promise<void>): FileStore {
    const store = createLocalStore(location);
    let looks = 0;
    return {
      ...store,
      async list(...asked) {
        looks += 1;
        if (looks === 2) await write();
        return await store.list(...asked);
      },
    };
  }

  it('a second look leaves out a file that changes between the two, and reports it', async () => {
    await put('x.csv', 1);
    await put('y.csv', 2);
    const location = locate(join(folder.path, '*.csv'), (path) => path);
    const store = busyStore(location, () => put('x.csv', 12));
    const signal = new AbortController().signal;
    const look = async (settings: object) => {
      const stream = FileStream.parse({ path: '*.csv', stableMs: 1, ...settings });
      return await findReady({ store, location, stream }, signal);
    };
    const first = await look({});
    expect(first.files).toEqual([]);
    expect(first.absent).toMatchObject({
      message: `${folder.path}/x.csv is not read yet: it has changed within 1 ms, so it may still be written.`,
    });
    expect((await look({})).files.map((file) => file.name)).toEqual(['x.csv', 'y.csv']);
  });

  it('a pull looks at its files a second time', async () => {
    await put('x.csv', 1);
    expect(await (await stream({ stableMs: 1 })).ids()).toEqual(['1']);
  });
});

describe('a stream without a file', () => {
  it('a stream without a file fails, unless files are archived, deleted or announced', async () => {
    await expect((await stream({})).ids()).rejects.toThrow('No file matches *.csv');
    expect(await (await stream({ absent: 'skip' })).ids()).toBe('nothing new');
    expect(await (await stream({ after: 'delete' })).ids()).toBe('nothing new');
    await expect((await stream({ after: 'delete', absent: 'fail' })).ids()).rejects.toThrow('No file matches *.csv');
    expect(await (await stream({ absent: 'skip' })).check()).toMatch(/^No file matches \*\.csv/);
  });

  it('a stream fails where its folder does not exist', async () => {
    await expect((await stream({ path: 'no/*.csv', absent: 'skip' })).ids()).rejects.toThrow('does not exist');
    await expect((await stream({ path: 'no/x.csv', absent: 'skip' })).ids()).rejects.toThrow('does not exist');
  });
});

describe('files that were read', () => {
  it('files that were read are archived with their folders and semaphores', async () => {
    await put('in/a/x.csv', 1, 1);
    await put('in/a/x.csv.done', '', 1);
    await put('in/b/x.csv', 2, 1);
    await put('in/b/x.csv.done', '', 1);
    const read = await stream({ path: 'in/*/*.csv', done: '.done', after: 'archive', archive: 'read' });
    expect(await read.ids()).toEqual(['1', '2']);
    await read.acknowledge();
    expect([there('in/a'), there('in/b')]).toEqual([[], []]);
    expect([there('read/a'), there('read/b')]).toEqual([
      ['x.csv', 'x.csv.done'],
      ['x.csv', 'x.csv.done'],
    ]);
    expect(read.log).toContain(`${folder.path}/in/a/x.csv was read and is now ${folder.path}/read/a/x.csv.`);
    expect(await read.ids()).toBe('nothing new');
  });

  it('files that were read never replace an archived file', async () => {
    for (const id of [1, 2, 3]) {
      await put('x.csv', id);
      const read = await stream({ path: 'x.csv', after: 'archive', archive: 'read' });
      await read.ids();
      await read.acknowledge();
    }
    expect(there('read')).toEqual(['x-2.csv', 'x-3.csv', 'x.csv']);
    expect(readFileSync(join(folder.path, 'read/x-3.csv'), 'utf8')).toBe('id\n3\n');
  });

  it('files that were read are deleted where the config asks for that', async () => {
    await put('x.csv', 1);
    const read = await stream({ after: 'delete' });
    await read.ids();
    expect(there()).toEqual(['x.csv']);
    await read.acknowledge();
    expect(there()).toEqual([]);
  });

  it('files that were read stay where their stream did not pass', async () => {
    await put('x.csv', 1);
    const read = await open({ default: { path: '*.csv', after: 'delete' }, second: { path: '*.csv' } });
    await read.ids();
    await read.ids('second');
    await read.acknowledge('second');
    await read.acknowledge('default');
    expect(there()).toEqual(['x.csv']);
    await read.acknowledge('default', 'second');
    expect(there()).toEqual([]);
  });

  it('files that were read stay where another stream has not seen them', async () => {
    await put('x.csv', 1);
    const read = await open({ first: { path: '?.csv' }, second: { path: '*.csv', after: 'delete' } });
    await read.ids('first');
    await put('y.csv', 2);
    expect(await read.ids('second')).toEqual(['1', '2']);
    await read.acknowledge();
    expect(there()).toEqual(['y.csv']);
  });

  it('files that were read stay where they were changed since, or have appeared meanwhile', async () => {
    await put('x.csv', 1);
    await put('y.csv', 2);
    const read = await stream({ after: 'archive', archive: 'read' });
    await read.ids();
    await put('y.csv', 22, 2);
    await put('z.csv', 3);
    await read.acknowledge();
    expect(there()).toEqual(['read', 'y.csv', 'z.csv']);
    expect(there('read')).toEqual(['x.csv']);
  });

  it('files that were read stay where the semaphore holds them', async () => {
    await put('a.csv', 1, 1);
    await put('a.csv.done', '', 1);
    await put('b.csv', 2, 2);
    const read = await stream({ contents: 'changes', done: '.done', after: 'delete' });
    expect(await read.ids()).toEqual(['1']);
    await read.acknowledge();
    expect(there()).toEqual(['b.csv']);
  });

  it('files that were read are archived with the older ones that `latest` skips, since the next pull would read those', async () => {
    for (const day of [1, 2, 3]) await put(`x-${day}.csv`, day, day);
    const read = await stream({ files: 'latest', after: 'archive', archive: 'read' });
    expect(await read.ids()).toEqual(['3']);
    await put('x-4.csv', 4, 4);
    await read.acknowledge();
    expect(there()).toEqual(['read', 'x-4.csv']);
    expect(there('read')).toEqual(['x-1.csv', 'x-2.csv', 'x-3.csv']);
  });

  it('files of changes go also where an earlier run has read them and was ended before it could acknowledge them', async () => {
    await put('x.csv', 1);
    const settings = { contents: 'changes', after: 'delete' };
    const cursor = (await (await stream(settings)).pages()).at(-1)?.cursor ?? null;
    const next = await stream(settings);
    expect(await next.ids('default', { cursor })).toBe('nothing new');
    await next.acknowledge();
    expect(there()).toEqual([]);
  });

  it.skipIf(OTHER_FILE_SYSTEM === null)('files are archived onto another file system (needs one)', async () => {
    const archive = join(OTHER_FILE_SYSTEM ?? '', `dpp-sync-archive-${process.pid}`);
    try {
      await put('x.csv', 1);
      const read = await stream({ after: 'archive', archive });
      await read.ids();
      await read.acknowledge();
      expect(there()).toEqual([]);
      expect(readdirSync(archive)).toEqual(['x.csv']);
      expect(readFileSync(join(archive, 'x.csv'), 'utf8')).toBe('id\n1\n');
    } finally {
      await removeFolder(archive);
    }
  });

  it('files that cannot be archived fail the run, and are read again', async () => {
    await put('x.csv', 1);
    await writeFile(join(folder.path, 'read'), 'a file in the store of the folder');
    const read = await stream({ after: 'archive', archive: 'read' });
    await read.ids();
    await expect(read.acknowledge()).rejects.toThrow(`${folder.path}/x.csv was read and cannot be archived: `);
    expect(await read.ids()).toEqual(['1']);
  });
});

describe('settings that contradict each other', () => {
  it.each([
    [{ after: 'archive' }, '`after: archive` needs the folder'],
    [{ archive: 'read' }, '`archive` has no effect with `after: keep`'],
    [
      { path: 'in/*/x.csv', after: 'archive', archive: 'in' },
      'The pattern in/*/x.csv also matches files in the folder in for archived files',
    ],
    [
      { path: 'in/*.csv', after: 'archive', archive: 'in' },
      'The pattern in/*.csv also matches files in the folder in for archived files',
    ],
  ])('settings of files that contradict each other are refused: %j', async (settings, message) => {
    await put('in/x.csv', 1);
    await expect((await stream({ path: 'in/*.csv', ...settings })).ids()).rejects.toThrow(message);
  });
});
