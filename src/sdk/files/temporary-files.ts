import { open, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileReasonOf } from '../../lib/errors.ts';
import { makeTemporaryFolder } from '../../lib/files.ts';
import { sourceFault } from '../connector.ts';

export interface TemporaryFile {
  path: string;
  remove: () => Promise<void>;
}

/**
 * Temporary files of one source. They are in a folder that only this user can read.
 *
 * @param folder the folder in which they are made; by default the system's folder for temporary files
 */
export function createTemporaryFiles(folder: string | undefined) {
  const parent = folder ?? tmpdir();
  let made: Promise<string> | undefined;
  let count = 0;

  async function make(): Promise<string> {
    try {
      return await makeTemporaryFolder(parent, 'files');
    } catch (error) {
      throw sourceFault(`No temporary file can be made in ${parent}: ${fileReasonOf(error)}.`, {
        suggestion: 'Check the folder and its rights, or set `downloads.folder` in the options of the source.',
        cause: error,
      });
    }
  }

  return {
    /** @param name the name of the file in its folder; by default a number */
    async create(name?: string): Promise<TemporaryFile> {
      made ??= make();
      count += 1;
      const path = join(await made, name ?? `${count}`);
      await (await open(path, 'wx', 0o600)).close();
      return { path, remove: () => unlink(path) };
    },
    /** Removes all temporary files. */
    async close(): Promise<void> {
      if (made === undefined) return;
      const path = await made.catch(() => null);
      if (path !== null) await rm(path, { recursive: true, force: true });
    },
  };
}

export type TemporaryFiles = ReturnType<typeof createTemporaryFiles>;
