// Files of changes that gave no record: they are read again when the options are corrected, and are not deleted before.

import { readdirSync } from 'node:fs';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { json } from '../../../connectors/json/index.ts';
import { type Connector, defineFileConnector, type JsonValue } from '../../../src/sdk/index.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { type FileWorld, openFileWorld } from '../../support/worlds/file-world.ts';

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

async function put(name: string, content: unknown, day: number): Promise<void> {
  const path = join(folder.path, name);
  await writeFile(path, JSON.stringify(content));
  const at = new Date(Date.UTC(2026, 0, day));
  await utimes(path, at, at);
}

async function open(options: object): Promise<FileWorld> {
  await world?.close();
  const stream = { path: '*.json', contents: 'changes', ...options };
  const connector = json as unknown as Connector<never, never>;
  world = await openFileWorld({ folder: folder.path, streams: { default: stream }, connector });
  return world;
}

/** Reads as a run does, from the cursor of the run before. */
async function run(options: object, cursor: JsonValue = null) {
  const opened = await open(options);
  const read = await opened.pages('default', { cursor });
  await opened.acknowledge();
  return {
    ids: read.flatMap((page) => page.rows.map(({ fields }) => fields['id'])),
    cursor: read.findLast((page) => page.cursor !== undefined)?.cursor ?? cursor,
    log: opened.log,
  };
}

const there = () => readdirSync(folder.path).toSorted();
const WRONG = { at: '$[*].rows[*]' };
const RIGHT = { at: '$[*].lines[*]' };
const NO_RECORD = expect.stringContaining('No record was read. 1.json has no list $[*].rows');

describe('files of changes and corrected options', () => {
  it('a file of changes that gave no record is read again when the options of its stream are corrected, and after that no more', async () => {
    await put('1.json', [{ lines: [{ id: 'a' }] }], 1);
    await put('2.json', [{ lines: [{ id: 'b' }, { id: 'c' }] }], 2);
    const first = await run(WRONG);
    expect(first).toMatchObject({ ids: [], log: [NO_RECORD] });
    const second = await run(RIGHT, first.cursor);
    expect(second).toMatchObject({ ids: ['a', 'b', 'c'], log: [] });
    expect(await run(RIGHT, second.cursor)).toMatchObject({ ids: [], log: [] });
    expect(await run(WRONG, second.cursor)).toMatchObject({ ids: [], log: [] });
  });

  it('a file of changes that gave no record is not read again with the same options, and each read says that nothing was read', async () => {
    await put('1.json', [{ lines: [{ id: 'a' }] }], 1);
    await put('2.json', [{ lines: [{ id: 'b' }] }], 2);
    const first = await run(WRONG);
    const second = await open(WRONG);
    expect(await second.pages('default', { cursor: first.cursor })).toEqual([{ rows: [], nothingNew: true }]);
    const files = `${folder.path}/1.json and 1 more`;
    expect(second.log).toEqual([
      `No record was read. ${files} had no record when dpp-sync read them. If there should be records, correct the options of the stream: then dpp-sync reads the files again.`,
    ]);
  });

  it('a file of changes that gave no record stays where read files are deleted, until the options are corrected', async () => {
    await put('1.json', [{ lines: [{ id: 'a' }] }], 1);
    const first = await run({ ...WRONG, after: 'delete' });
    const NOT_DELETED = `${folder.path}/1.json is not deleted, because a stream that reads the same files found no record.`;
    expect(first.log).toEqual([NO_RECORD, NOT_DELETED]);
    const second = await run({ ...WRONG, after: 'delete' }, first.cursor);
    expect(second.log).toEqual([expect.stringContaining('No record was read.'), NOT_DELETED]);
    expect(there()).toEqual(['1.json']);
    expect(await run({ ...RIGHT, after: 'delete' }, second.cursor)).toMatchObject({ ids: ['a'] });
    expect(there()).toEqual([]);
  });

  it('a file from which one of two streams got no record is not deleted by the other one, but may be archived by it', async () => {
    const connector = json as unknown as Connector<never, never>;
    const shared = { path: '*.json', contents: 'changes' };
    const openBoth = async (right: object, wrong: object) => {
      await world?.close();
      const streams = { right: { ...shared, ...RIGHT, ...right }, wrong: { ...shared, ...WRONG, ...wrong } };
      world = await openFileWorld({ folder: folder.path, streams, connector });
      await world.pages('right');
      await world.pages('wrong');
      await world.acknowledge();
      return world.log;
    };
    await put('1.json', [{ lines: [{ id: 'a' }] }], 1);
    await put('2.json', [{ lines: [{ id: 'b' }] }], 2);
    const log = await openBoth({ after: 'delete' }, {});
    expect(there()).toEqual(['1.json', '2.json']);
    expect(log).toEqual([
      NO_RECORD,
      `${folder.path}/1.json and 1 more are not deleted, because a stream that reads the same files found no record.`,
    ]);
    await openBoth({ after: 'archive', archive: 'read' }, { after: 'delete' });
    expect(there()).toEqual(['read']);
    expect(readdirSync(join(folder.path, 'read')).toSorted()).toEqual(['1.json', '2.json']);
  });

  it('a file of changes that gave no record is deleted with the others where one of them gave a record, or if its list is empty', async () => {
    await put('1.json', [{ other: 1 }], 1);
    await put('2.json', [{ lines: [{ id: 'b' }] }], 2);
    const first = await run({ ...RIGHT, after: 'delete' });
    expect(first.ids).toEqual(['b']);
    expect(there()).toEqual([]);
    await put('3.json', [{ lines: [] }], 3);
    await run({ ...RIGHT, after: 'delete' }, first.cursor);
    expect(there()).toEqual([]);
  });

  it('a file of changes begins at its first row again if its options change while a part of it is stored', async () => {
    const lines = Array.from({ length: 1_500 }, (_, id) => ({ id, kind: id % 2 === 0 ? 'a' : 'b' }));
    await put('1.json', [{ lines }], 1);
    const opened = await open({ ...RIGHT, where: { kind: 'a' } });
    const [page] = await opened.pages();
    const rest = await run({ ...RIGHT, where: { kind: 'b' } }, page?.cursor ?? null);
    expect(rest.ids).toEqual(lines.filter(({ kind }) => kind === 'b').map(({ id }) => id));
  });

  it.each([
    ['a pattern', z.string().transform((text) => new RegExp(text))],
    ['a set', z.string().transform((text) => new Set([text]))],
    ['a large number', z.string().transform((text) => BigInt(text))],
  ])(
    'a file of changes is read again if an option that its connector turns into %s is corrected',
    async (_kind, only) => {
      const connector = defineFileConnector({
        id: 'own',
        title: 'Own',
        options: {},
        streamOptions: { only },
        async *read(file, { stream, onNoRecords }) {
          if (inspect(stream.only).includes('7')) onNoRecords('None.');
          else yield { rows: [{ fields: { id: 'a' }, place: { file: file.name, line: 1 } }] };
        },
      }) as unknown as Connector<never, never>;
      const read = async (text: string, cursor: JsonValue) => {
        await world?.close();
        const streams = { default: { path: '*.json', contents: 'changes', only: text } };
        world = await openFileWorld({ folder: folder.path, streams, connector });
        return await world.pages('default', { cursor });
      };
      await put('1.json', [], 1);
      const [none] = await read('7', null);
      expect(none?.rows).toEqual([]);
      const [page] = await read('8', none?.cursor ?? null);
      expect(page?.rows).toHaveLength(1);
    },
  );
});
