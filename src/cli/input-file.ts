import { readBoundedFile } from '../config/bounded-file.ts';
import { fault } from '../domain/faults.ts';
import { messageOf } from '../lib/errors.ts';

/**
 * Reads a text file that an option names.
 *
 * @throws Fault `usage` when it cannot be read, is too long, or is no UTF-8
 */
export async function readInputFile(file: string, bytesMax: number): Promise<string> {
  const content = await readBoundedFile(file, bytesMax).catch((error: unknown) => {
    throw fault('usage', `${file} cannot be read: ${messageOf(error)}.`, { cause: error });
  });
  if (!content.ok) throw fault('usage', `${file} ${content.reason}.`);
  return content.text;
}
