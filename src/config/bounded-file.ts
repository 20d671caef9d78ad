import { open } from 'node:fs/promises';

/** Why a file's text cannot be had, as the end of a sentence. */
export type FileText = { ok: true; text: string } | { ok: false; reason: string };

/**
 * Reads a text file of at most `bytesMax` bytes.
 *
 * @throws what the system says where the file cannot be opened or read (`ENOENT`, `EACCES`, `EISDIR`).
 */
export async function readBoundedFile(path: string, bytesMax: number): Promise<FileText> {
  const handle = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
      length += bytesRead;
      if (bytesRead === 0 || length > bytesMax) break;
    }
    if (length > bytesMax) return { ok: false, reason: `is larger than ${bytesMax} bytes` };
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, length)) };
  } catch (error) {
    if (error instanceof TypeError) return { ok: false, reason: 'is not UTF-8 text' };
    throw error;
  } finally {
    await handle.close();
  }
}
