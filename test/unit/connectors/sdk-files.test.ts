import { appendFile, chmod, mkdir, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFiles, openLocalFile, type SourceFile } from '../../../src/sdk/index.ts';
import { temporaryFolder } from '../../support/connectors/connector-reader.ts';

const never = new AbortController().signal;

const chunksOf = (file: SourceFile) => openLocalFile(file).chunks(never)[Symbol.asyncIterator]();

async function names(folder: string, pattern: string): Promise<string[]> {
  const files = await findFiles({ pattern, select: 'all', resolvePath: (path) => resolve(folder, path) });
  return files.map((file) => file.name);
}

describe('findFiles', () => {
  it('a file is found whether its accents are characters of their own or not', async () => {
    const [ownAccent, oneCharacter] = ['Gera\u0308t.csv', 'Größe.csv'];
    await using folder = await temporaryFolder({ [ownAccent]: '', [oneCharacter]: '' });
    const found = async (pattern: string) =>
      (await findFiles({ pattern, select: 'all', resolvePath: (path) => join(folder.path, path) })).map(
        ({ path, name }) => [path.slice(folder.path.length + 1), name],
      );
    for (const pattern of ['Gerät.csv', ownAccent, 'Gerät*', 'Ger?t.csv', 'Gera*', './Gerät.csv']) {
      expect(await found(pattern)).toEqual([[ownAccent, ownAccent]]);
    }
    for (const pattern of ['Größe.csv', 'Gro\u0308ße.csv', 'Gro\u0308*']) {
      expect(await found(pattern)).toEqual([[oneCharacter, oneCharacter]]);
    }
    await expect(found('Gerat.csv')).rejects.toThrow('Gerat.csv');
    await expect(found('Gerüt.csv')).rejects.toThrow('does not exist');
  });

  it('findFiles matches * and ? in names of files and folders, and nothing else', async () => {
    await using folder = await temporaryFolder({
      'a.csv': '',
      'a+b.csv': '',
      'b.csv': '',
      '.hidden.csv': '',
      // Excel writes it beside an open a.csv.
      '~$a.csv': '',
      'a.csv.bak': '',
    });
    for (const plant of ['plant-1', 'plant-2', '.trash']) {
      await mkdir(join(folder.path, plant));
      await writeFile(join(folder.path, plant, 'x.csv'), '');
    }
    await mkdir(join(folder.path, 'folder.csv'));
    expect(await names(folder.path, '*.csv')).toEqual(['a+b.csv', 'a.csv', 'b.csv']);
    expect(await names(folder.path, '?.csv')).toEqual(['a.csv', 'b.csv']);
    expect(await names(folder.path, 'a+?.csv')).toEqual(['a+b.csv']);
    expect(await names(folder.path, '.hid*.csv')).toEqual(['.hidden.csv']);
    expect(await names(folder.path, '~$*.csv')).toEqual(['~$a.csv']);
    expect(await names(folder.path, 'plant-*/x.csv')).toEqual(['plant-1/x.csv', 'plant-2/x.csv']);
    expect(await names(folder.path, '*/*.csv')).toEqual(['plant-1/x.csv', 'plant-2/x.csv']);
    expect(await names(join(folder.path, 'plant-1'), '../?.csv')).toEqual(['a.csv', 'b.csv']);
    expect(await names('/', join(folder.path, 'b*.csv'))).toEqual(['b.csv']);
    expect(await names('/', join(folder.path, 'b.csv'))).toEqual(['b.csv']);
  });

  it('findFiles does not take wildcards in the folder of the config for a pattern', async () => {
    await using folder = await temporaryFolder();
    const odd = join(folder.path, 'a*b');
    await mkdir(odd);
    await writeFile(join(odd, 'x.csv'), '');
    expect(await names(odd, '?.csv')).toEqual(['x.csv']);
  });

  it('findFiles follows links to files', async () => {
    await using folder = await temporaryFolder({ 'real.txt': 'x' });
    await symlink(join(folder.path, 'real.txt'), join(folder.path, 'link.csv'));
    expect(await names(folder.path, '*.csv')).toEqual(['link.csv']);
  });

  it('findFiles says what is wrong with a path, and what to do', async () => {
    await using folder = await temporaryFolder({ 'a.txt': '' });
    await mkdir(join(folder.path, 'd'));
    const fault = { code: 'source.unreadable', exitCode: 3, suggestion: expect.stringMatching(/\.$/) };
    const message = (text: string) => ({ ...fault, message: expect.stringContaining(text) });
    await expect(names(folder.path, 'b.csv')).rejects.toMatchObject(
      message(`b.csv (${folder.path}/b.csv) does not exist`),
    );
    await expect(names(folder.path, '*.csv')).rejects.toMatchObject(
      message(`No file matches *.csv (looked in ${folder.path})`),
    );
    await expect(names(folder.path, 'no/*.csv')).rejects.toMatchObject(message(`${folder.path}/no) does not exist`));
    await expect(names(folder.path, 'd')).rejects.toMatchObject(message('d is a folder, not a file'));
    await expect(names(folder.path, 'a.txt/x.csv')).rejects.toMatchObject(message('does not exist'));
    await expect(names(folder.path, '**/x.csv')).rejects.toMatchObject(message('contains **'));
    await expect(names('/', '/dev/null')).rejects.toThrow('is not a regular file');
  });
});

describe('a file that is read', () => {
  async function find(folder: string) {
    const [file] = await findFiles({ pattern: 'x.csv', select: 'all', resolvePath: (path) => join(folder, path) });
    if (file === undefined) throw new Error('No file.');
    return file;
  }

  it('a file is read in bounded chunks', async () => {
    const content = Buffer.alloc(600_000, 'abc');
    await using folder = await temporaryFolder({ 'x.csv': content });
    const chunks: Buffer[] = [];
    for await (const chunk of openLocalFile(await find(folder.path)).chunks(never)) chunks.push(chunk);
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(256 * 1024);
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
  });

  describe('of a file that is written to while it is read', () => {
    const OLD = Buffer.alloc(900_000, 'old row\n');
    const path = (folder: string) => join(folder, 'x.csv');

    /** Reads the file, and changes it after the first chunk. */
    async function readWhile(change: (folder: string) => Promise<void>): Promise<{ read: Buffer; error: unknown }> {
      await using folder = await temporaryFolder({ 'x.csv': OLD });
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of openLocalFile(await find(folder.path)).chunks(never)) {
          chunks.push(chunk);
          if (chunks.length === 1) await change(folder.path);
        }
      } catch (error) {
        return { read: Buffer.concat(chunks), error };
      }
      return { read: Buffer.concat(chunks), error: null };
    }
    const refusal = (how: RegExp) => ({
      message: expect.stringMatching(how),
      suggestion: expect.stringContaining('under a temporary name'),
    });

    it('a file that grows while it is read is refused as soon as it has grown, with the reason', async () => {
      const { read, error } = await readWhile((folder) => appendFile(path(folder), 'new row\n'));
      expect(error).toMatchObject(
        refusal(/x\.csv was changed while it was read: it grew from 900000 to 900008 bytes\./),
      );
      expect(read.length).toBe(64 * 1024);
    });

    it('a file that shrinks while it is read is refused', async () => {
      const { error } = await readWhile((folder) => truncate(path(folder), 300_000));
      expect(error).toMatchObject(refusal(/it shrank from 900000 to 300000 bytes\./));
    });

    it('a file that is written over while it is read gives nothing of the new content, so that no row is a mixture of both', async () => {
      const { read, error } = await readWhile((folder) => writeFile(path(folder), Buffer.alloc(900_000, 'another\n')));
      expect(error).toMatchObject(refusal(/x\.csv was changed while it was read: it was overwritten\./));
      expect(read.equals(OLD.subarray(0, read.length))).toBe(true);
    });

    it('a file over which another is renamed is read to its end as it was when the read began', async () => {
      const { read, error } = await readWhile(async (folder) => {
        await writeFile(`${path(folder)}.new`, 'another\n');
        await rename(`${path(folder)}.new`, path(folder));
      });
      expect([error, read.equals(OLD)]).toEqual([null, true]);
    });
  });

  it('a file that is no longer the one that was found is refused', async () => {
    await using folder = await temporaryFolder({ 'x.csv': 'one' });
    const file = await find(folder.path);
    await writeFile(join(folder.path, 'x.csv'), 'other');
    await expect(chunksOf(file).next()).rejects.toThrow('was changed while it was read');
    await rm(join(folder.path, 'x.csv'));
    await expect(chunksOf(file).next()).rejects.toThrow('does not exist');
  });

  it.skipIf(process.getuid?.() === 0)(
    'a file that may not be read is reported (needs a user that is not root)',
    async () => {
      await using folder = await temporaryFolder({ 'x.csv': 'one' });
      await chmod(join(folder.path, 'x.csv'), 0);
      await expect(chunksOf(await find(folder.path)).next()).rejects.toThrow('permission denied');
    },
  );
});
