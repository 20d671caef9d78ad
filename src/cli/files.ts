import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fault } from '../domain/faults.ts';
import { Fault, fileReasonOf, systemCodeOf } from '../lib/errors.ts';
import { makeTemporaryFolder, readBoundedFile } from '../lib/files.ts';

/**
 * Reads a text file that an option names.
 *
 * @throws Fault `usage` if it cannot be read, is not a regular file, is too long, or is not UTF-8
 */
export async function readInputFile(file: string, bytesMax: number): Promise<string> {
  const content = await readBoundedFile(file, bytesMax);
  if (!content.ok) {
    const suggestion = 'Check the path and the permissions of the file.';
    throw fault('usage', `${file} ${content.error.reason}.`, { suggestion });
  }
  return content.value;
}

/**
 * Writes a file that appears only when it is complete: it is written in a temporary folder beside its place, synced to the
 * disk, and then moved. The folder of a killed process is removed by the next call for the same place.
 *
 * @param mode the mode of the file, before the umask
 * @param write writes the content; if it throws, no file is left
 * @param option the option that names the file
 * @returns the absolute path, and the result of `write`
 * @throws Fault `usage` if the file cannot be written, or the error of `write` if it is a `Fault`
 */
export async function writeWholeFile<T>(
  path: string,
  mode: number,
  write: (handle: FileHandle) => Promise<T>,
  option = '--out',
): Promise<{ file: string; written: T }> {
  const file = resolve(path);
  try {
    await assertReplaceable(file);
    const folder = await makeTemporaryFolder(dirname(file), 'out');
    try {
      const partial = join(folder, basename(file));
      const handle = await open(partial, 'wx', mode);
      let written: T;
      try {
        written = await write(handle);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(partial, file);
      return { file, written };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw fault('usage', `${file} cannot be written: ${fileReasonOf(error)}.`, {
      suggestion: `With ${option}, name a file in a folder that exists and in which dpp-sync may write.`,
      cause: error,
    });
  }
}

/**
 * Throws unless there is a regular file or none, because the rename would also replace a device such as /dev/stdout.
 */
async function assertReplaceable(file: string): Promise<void> {
  try {
    if (!(await stat(file)).isFile()) throw new Error('the path names something that is not a file');
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
}
