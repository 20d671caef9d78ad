import { fault } from '../domain/faults.ts';
import { readBoundedFile } from '../lib/files/bounded-file.ts';

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
