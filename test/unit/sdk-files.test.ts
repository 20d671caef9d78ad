import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findFiles, readFileChunks } from '../../src/sdk/index.ts';
import { temporaryFolder } from '../support/connector-reader.ts';

const never = new AbortController().signal;

async function names(folder: string, pattern: string): Promise<string[]> {
  const files = await findFiles({ pattern, select: 'all', resolvePath: (path) => resolve(folder, path) });
  return files.map((file) => file.name);
}

describe('findFiles', () => {
  it('matches * and ? in names of files and folders, and nothing else', async () => {
    await using folder = await temporaryFolder({
      'a.csv': '',
      'a+b.csv': '',
      'b.csv': '',
      '.hidden.csv': '',
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
    expect(await names(folder.path, 'plant-*/x.csv')).toEqual(['plant-1/x.csv', 'plant-2/x.csv']);
    expect(await names(folder.path, '*/*.csv')).toEqual(['plant-1/x.csv', 'plant-2/x.csv']);
    expect(await names(join(folder.path, 'plant-1'), '../?.csv')).toEqual(['a.csv', 'b.csv']);
    expect(await names('/', join(folder.path, 'b*.csv'))).toEqual(['b.csv']);
    expect(await names('/', join(folder.path, 'b.csv'))).toEqual(['b.csv']);
  });

  it('does not take wildcards in the folder of the config for a pattern', async () => {
    await using folder = await temporaryFolder();
    const odd = join(folder.path, 'a*b');
    await mkdir(odd);
    await writeFile(join(odd, 'x.csv'), '');
    expect(await names(odd, '?.csv')).toEqual(['x.csv']);
  });

  it('follows links to files', async () => {
    await using folder = await temporaryFolder({ 'real.txt': 'x' });
    await symlink(join(folder.path, 'real.txt'), join(folder.path, 'link.csv'));
    expect(await names(folder.path, '*.csv')).toEqual(['link.csv']);
  });

  it('says what is wrong with a path, and what to do', async () => {
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

describe('readFileChunks', () => {
  async function find(folder: string) {
    const [file] = await findFiles({ pattern: 'x.csv', select: 'all', resolvePath: (path) => join(folder, path) });
    if (file === undefined) throw new Error('No file.');
    return file;
  }

  it('gives the bytes in bounded chunks', async () => {
    const content = Buffer.alloc(600_000, 'abc');
    await using folder = await temporaryFolder({ 'x.csv': content });
    const chunks: Buffer[] = [];
    for await (const chunk of readFileChunks(await find(folder.path), never)) chunks.push(chunk);
    expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThanOrEqual(256 * 1024);
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
  });

  it('refuses a file that is no longer the one that was found', async () => {
    await using folder = await temporaryFolder({ 'x.csv': 'one' });
    const file = await find(folder.path);
    await writeFile(join(folder.path, 'x.csv'), 'other');
    await expect(readFileChunks(file, never).next()).rejects.toThrow('was changed while it was read');
    await rm(join(folder.path, 'x.csv'));
    await expect(readFileChunks(file, never).next()).rejects.toThrow('does not exist');
  });

  it.skipIf(process.getuid?.() === 0)(
    'reports a file that may not be read (needs a user that is not root)',
    async () => {
      await using folder = await temporaryFolder({ 'x.csv': 'one' });
      await chmod(join(folder.path, 'x.csv'), 0);
      await expect(readFileChunks(await find(folder.path), never).next()).rejects.toThrow('permission denied');
    },
  );
});
