// Files in .gz and .zip, recognised by their first bytes: which entries are read, and which files are refused.

import { appendFileSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { constants, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { csv } from '../../../connectors/csv/index.ts';
import { createPageBuffer, defineFileConnector, type SourceRow } from '../../../src/sdk/index.ts';
import { readPages, readRows, temporaryFolder } from '../../support/connectors/connector-reader.ts';
import { openFileWorld } from '../../support/worlds/file-world.ts';

const MEGABYTE = 1_000_000;

async function zipOf(entries: Record<string, string | Uint8Array>, compress = true): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(entries)) zip.addBuffer(Buffer.from(content), name, { compress });
  zip.end();
  return buffer(zip.outputStream);
}

/** Reads one file with the csv connector: the values of the column `id`. */
async function idsOf(
  content: Uint8Array,
  { stream = {}, unpacking = {} }: { stream?: object; unpacking?: object } = {},
) {
  await using folder = await temporaryFolder({ 'x.csv': content });
  const options = { unpacking, downloads: { folder: folder.path } };
  const world = await openFileWorld({
    folder: folder.path,
    options,
    streams: { default: { path: 'x.csv', ...stream } },
  });
  try {
    return await world.ids();
  } finally {
    await world.close();
    expect(readdirSync(folder.path)).toEqual(['x.csv']);
  }
}

/** Reads a file without keeping its content. Returns the number of bytes, and the error at the end. */
async function countOf(content: Uint8Array, unpacking: object = {}): Promise<{ bytes: number; error: unknown }> {
  let bytes = 0;
  const counting = defineFileConnector({
    id: 'counting',
    title: 'Files of which the bytes are counted',
    options: {},
    streamOptions: {},
    async *read(file, { signal }) {
      for await (const chunk of file.chunks(signal)) bytes += chunk.length;
      yield { rows: [] };
    },
    columns: async () => [],
  });
  await using folder = await temporaryFolder({ x: content });
  const error = await readRows(counting, { folder: folder.path, options: { unpacking }, stream: { path: 'x' } }).catch(
    (reason: unknown) => reason,
  );
  return { bytes, error };
}

const rows = (count: number) =>
  `id,text\n${Array.from({ length: count }, (_, at) => `${at},some text ${at * 7}`).join('\n')}\n`;

describe('a gzip file', () => {
  it('a gzip file is unpacked whatever its name is', async () => {
    expect(await idsOf(gzipSync('id\n1\n2\n'))).toEqual(['1', '2']);
  });

  it('a gzip file may consist of several parts', async () => {
    expect(await idsOf(Buffer.concat([gzipSync('id\n1\n'), gzipSync('2\n')]))).toEqual(['1', '2']);
  });

  it('a gzip file may end with the zeros that fill a block, and with nothing else', async () => {
    const parts = [gzipSync('id\n1\n'), gzipSync('2\n')] as const;
    expect(await idsOf(Buffer.concat([...parts, Buffer.alloc(200_000)]))).toEqual(['1', '2']);
    // zlib would take the second part for such zeros.
    parts[1][0] = 0;
    await expect(idsOf(Buffer.concat(parts))).rejects.toThrow(
      'x.csv cannot be unpacked: the packed data go on behind their end, and are damaged there.',
    );
  });

  it('a gzip file counts its progress in the bytes that are stored', async () => {
    const content = gzipSync(rows(20_000));
    await using folder = await temporaryFolder({ 'x.csv.gz': content });
    const pages = [];
    for await (const page of readPages(csv, { folder: folder.path, stream: { path: 'x.csv.gz' } })) pages.push(page);
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.every((page) => page.rows.length <= 500)).toBe(true);
    expect(pages.at(-1)?.progress).toEqual({ done: content.length, total: content.length });
  });

  it('a gzip file that is cut off is refused, whatever rows were in it', async () => {
    const content = gzipSync(rows(1_000));
    await expect(idsOf(content.subarray(0, -20))).rejects.toThrow('x.csv cannot be unpacked: it is cut off.');
    await expect(idsOf(content.subarray(0, 3))).rejects.toThrow('x.csv cannot be unpacked: it is cut off.');
  });

  it('a gzip file that is damaged is refused', async () => {
    const content = gzipSync(rows(1_000));
    content[content.length - 6] = (content.at(-6) ?? 0) ^ 1;
    await expect(idsOf(content)).rejects.toThrow('x.csv cannot be unpacked: its packed data are damaged.');
  });

  it('a gzip file that was made to fill a disk is refused in bounded memory', async () => {
    const bomb = Buffer.concat(Array.from({ length: 100 }, () => gzipSync(Buffer.alloc(10 * MEGABYTE))));
    const before = process.memoryUsage.rss();
    const { error, bytes } = await countOf(bomb);
    expect(error).toMatchObject({ message: expect.stringContaining('x grows to more than 200 times its size') });
    expect(bytes).toBeLessThanOrEqual(bomb.length * 200);
    expect(process.memoryUsage.rss() - before).toBeLessThan(100 * MEGABYTE);
  });

  it('a gzip file larger than the limit is refused', async () => {
    const limits = { unpacking: { maxBytes: 1_000 } };
    await expect(idsOf(gzipSync(rows(1_000)), limits)).rejects.toThrow('x.csv is unpacked to more than 1000 bytes.');
  });

  it('a gzip file within another is refused', async () => {
    await expect(idsOf(gzipSync(gzipSync('id\n1\n')))).rejects.toThrow('x.csv is packed twice');
  });

  it('a gzip file that is changed while it is read is refused', async () => {
    await using folder = await temporaryFolder({ 'x.csv.gz': gzipSync(rows(200_000)) });
    const read = async () => {
      for await (const page of readPages(csv, { folder: folder.path, stream: { path: 'x.csv.gz' } })) {
        if (page.rows.length > 0) appendFileSync(join(folder.path, 'x.csv.gz'), 'x');
      }
    };
    await expect(read()).rejects.toThrow('x.csv.gz was changed while it was read: it grew');
  });
});

describe('a ZIP archive', () => {
  it('a ZIP archive is read entry by entry, in the order of their names', async () => {
    const zip = await zipOf({ 'b.csv': 'id\n2\n', 'a.csv': 'id\n1\n', 'sub/c.csv': 'id\n3\n' });
    expect(await idsOf(zip)).toEqual(['1', '2', '3']);
    expect(await idsOf(zip, { stream: { entry: 'sub/*.csv' } })).toEqual(['3']);
    await expect(idsOf(zip, { stream: { entry: '*.txt' } })).rejects.toThrow(
      'x.csv has no entry that matches *.txt. It has b.csv, a.csv, sub/c.csv.',
    );
  });

  it('a ZIP archive gives no hidden entries, as those of macOS, unless `entry` names them', async () => {
    const zip = await zipOf({ 'a.csv': 'id\n1\n', '__MACOSX/._a.csv': '\0\x05\x16\x07', 'sub/.b.csv': 'id\n2\n' });
    expect(await idsOf(zip)).toEqual(['1']);
    expect(await idsOf(zip, { stream: { entry: '*.csv' } })).toEqual(['1']);
    expect(await idsOf(zip, { stream: { entry: 'sub/.*' } })).toEqual(['2']);
  });

  it('a ZIP archive with two entries of one name is refused, because their rows could not be told apart', async () => {
    const zip = new ZipFile();
    for (const content of ['id\n1\n', 'id\n2\n']) zip.addBuffer(Buffer.from(content), 'a.csv');
    zip.end();
    await expect(idsOf(await buffer(zip.outputStream))).rejects.toThrow('it has two entries of the name a.csv');
  });

  it('a ZIP archive is not searched with **, which `*` makes superfluous', () => {
    const { error } = csv.streamOptions.safeParse({ path: 'x.zip', entry: '**/*.csv' });
    expect(error?.issues).toMatchObject([
      { path: ['entry'], message: expect.stringContaining('one * stands for folders') },
    ]);
  });

  it('a ZIP archive gives each row the entry as its place, and progress in stored bytes', async () => {
    const zip = await zipOf({ 'a.csv': rows(3_000), 'b.csv': rows(3_000) });
    await using folder = await temporaryFolder({ 'x.zip': zip });
    const pages = [];
    for await (const page of readPages(csv, { folder: folder.path, stream: { path: 'x.zip' } })) pages.push(page);
    const files = new Set(pages.flatMap((page) => page.rows.map((row) => row.place.file)));
    expect([...files]).toEqual(['x.zip/a.csv', 'x.zip/b.csv']);
    const done = pages.map((page) => page.progress?.done ?? 0);
    expect(done).toEqual(done.toSorted((a, b) => a - b));
    expect(pages.at(-1)?.progress).toEqual({ done: zip.length, total: zip.length });
  });

  it('a ZIP archive may have entries that are not compressed', async () => {
    expect(await idsOf(await zipOf({ 'a.csv': 'id\n1\n' }, false))).toEqual(['1']);
  });

  it('a ZIP archive is resumed within an entry where it is read as changes', async () => {
    const zip = await zipOf({ 'a.csv': rows(700), 'b.csv': rows(700) });
    await using folder = await temporaryFolder({ 'x.zip': zip });
    const streams = { default: { path: 'x.zip', contents: 'changes' } };
    const world = await openFileWorld({ folder: folder.path, streams });
    const pages = await world.pages();
    let before = 0;
    for (const page of pages) {
      before += page.rows.length;
      const rest = await world.ids('default', { cursor: page.cursor ?? null });
      expect(rest === 'nothing new' ? 0 : rest.length).toBe(1_400 - before);
    }
    await world.close();
  });

  it('a ZIP archive that is encrypted or compressed in another way is refused', async () => {
    const zip = await zipOf({ 'a.csv': 'id\n1\n' });
    const directory = zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
    const encrypted = Buffer.from(zip);
    encrypted.writeUInt16LE(encrypted.readUInt16LE(directory + 8) | 1, directory + 8);
    await expect(idsOf(encrypted)).rejects.toThrow('x.csv/a.csv is encrypted.');
    const lzma = Buffer.from(zip);
    lzma.writeUInt16LE(14, directory + 10);
    await expect(idsOf(lzma)).rejects.toThrow('x.csv/a.csv is compressed by method 14, which is not supported.');
  });

  it('a ZIP archive that is damaged, cut off or lies about its sizes is refused', async () => {
    const zip = await zipOf({ 'a.csv': rows(1_000) });
    await expect(idsOf(zip.subarray(0, -30))).rejects.toThrow('x.csv cannot be unpacked');
    const directory = zip.indexOf(Buffer.from([0x50, 0x4b, 1, 2]));
    const checksum = Buffer.from(zip);
    checksum.writeUInt32LE(1, directory + 16);
    await expect(idsOf(checksum)).rejects.toThrow('its checksum is not the stated one');
    const smaller = Buffer.from(zip);
    smaller.writeUInt32LE(10, directory + 24);
    await expect(idsOf(smaller)).rejects.toThrow('its checksum is not the stated one');
  });

  it('a ZIP archive with names that lead out of a folder is refused', async () => {
    const zip = await zipOf({ 'aa/evil.csv': 'id\n1\n' });
    const hostile = Buffer.from(zip.toString('latin1').replaceAll('aa/evil.csv', '../evil.csv'), 'latin1');
    await expect(idsOf(hostile)).rejects.toThrow('x.csv cannot be unpacked: invalid relative path: ../evil.csv');
  });

  it('a ZIP archive that was made to fill a disk is refused, by what it states and by what comes', async () => {
    const zip = await zipOf({ a: Buffer.alloc(50 * MEGABYTE) });
    const message = (text: string) => ({ message: expect.stringContaining(text) });
    expect((await countOf(zip)).error).toMatchObject(message('x/a grows to more than 200 times its size'));
    const stated = await countOf(zip, { maxBytes: 20 * MEGABYTE });
    expect(stated).toMatchObject({ bytes: 0, error: message('x is unpacked to more than 20000000 bytes.') });
    const lying = Buffer.from(zip);
    lying.writeUInt32LE(10, lying.indexOf(Buffer.from([0x50, 0x4b, 1, 2])) + 24);
    const { bytes, error } = await countOf(lying, { maxBytes: 20 * MEGABYTE, maxRatio: 10_000 });
    expect(error).toMatchObject(message('x/a is unpacked to more than 20000000 bytes.'));
    expect(bytes).toBeLessThanOrEqual(20 * MEGABYTE);
  });

  it('a ZIP archive within another is refused', async () => {
    const zip = await zipOf({ 'a.csv.gz': gzipSync('id\n1\n') });
    await expect(idsOf(zip)).rejects.toThrow('x.csv/a.csv.gz is packed twice');
  });

  it('a ZIP archive that is a workbook is named as what it is', async () => {
    const zip = await zipOf({ '[Content_Types].xml': '<Types/>', 'xl/workbook.xml': '<workbook/>' });
    await expect(idsOf(zip)).rejects.toThrow('x.csv is an XLSX workbook or another office document');
  });

  it('a ZIP archive may have no entry at all', async () => {
    await expect(idsOf(await zipOf({}))).rejects.toThrow('x.csv has no entry that matches *. It is empty.');
  });
});

/** A format that reads its files in any order. */
const whole = defineFileConnector({
  id: 'whole',
  title: 'Files that are read as a whole',
  options: {},
  streamOptions: {},
  zipEntry: '[Content_Types].xml',
  async *read(file, { signal }) {
    const page = createPageBuffer();
    const path = await file.localPath(signal);
    const row: SourceRow = {
      fields: { path, text: (await readFile(path)).toString('latin1') },
      place: { file: file.name },
    };
    page.add(row, 1);
    yield page.take({ done: file.bytes, total: file.bytes });
  },
  columns: async () => ['text'],
});

describe('a format that needs a path', () => {
  const read = async (content: Uint8Array) => {
    await using folder = await temporaryFolder({ x: content });
    const options = { downloads: { folder: folder.path } };
    const all = await readRows(whole, { folder: folder.path, options, stream: { path: 'x' } });
    expect(readdirSync(folder.path)).toEqual(['x']);
    return all.map(({ fields }) => ({ ...fields, isOriginal: fields['path'] === join(folder.path, 'x') }));
  };

  it('a format that needs a path gets that of the file itself, and of an unpacked copy where the file is packed', async () => {
    expect(await read(Buffer.from('plain'))).toMatchObject([{ text: 'plain', isOriginal: true }]);
    expect(await read(gzipSync('packed'))).toMatchObject([{ text: 'packed', isOriginal: false }]);
    const zip = await zipOf({ a: 'first', b: 'second' });
    expect(await read(zip)).toMatchObject([{ text: 'first' }, { text: 'second' }]);
  });

  it('a format that needs a path gets its own ZIP files as they are, also out of an archive', async () => {
    const document = await zipOf({ '[Content_Types].xml': '<Types/>' });
    const text = document.toString('latin1');
    expect(await read(document)).toMatchObject([{ text, isOriginal: true }]);
    expect(await read(await zipOf({ 'book.xlsx': document }))).toMatchObject([{ text }]);
  });

  it('a format that needs a path gets a damaged ZIP file as it is, since it can say best what is wrong', async () => {
    const damaged = (await zipOf({ '[Content_Types].xml': '<Types/>' })).subarray(0, -20);
    expect(await read(damaged)).toMatchObject([{ isOriginal: true }]);
  });

  it('a format that needs a path is bound by the same limits', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * MEGABYTE), { level: constants.Z_BEST_COMPRESSION });
    await expect(read(bomb)).rejects.toThrow('grows to more than 200 times its size');
  });
});
