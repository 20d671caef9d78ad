import { readFile, stat } from 'node:fs/promises';
import { messageOf, systemCodeOf } from '../../lib/errors.ts';
import { err, ok, type Result } from '../../lib/result.ts';

/** Reads a small UTF-8 file; the error goes on from "The file …" and ends with a full stop. */
export async function readBounded(path: string, bytesMax: number): Promise<Result<string, string>> {
  try {
    const { size } = await stat(path);
    if (size > bytesMax) return err(`is ${size} bytes long; at most ${bytesMax} are allowed.`);
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path)));
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return err(`does not exist (${path}).`);
    if (systemCodeOf(error) === 'ERR_ENCODING_INVALID_ENCODED_DATA') return err('is not UTF-8.');
    return err(`cannot be read: ${messageOf(error)}.`);
  }
}
