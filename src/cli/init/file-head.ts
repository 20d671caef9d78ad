import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { fileReasonOf } from '../../lib/errors.ts';
import { FILE_SOURCE } from '../../sdk/files/file-options.ts';
import { openParts } from '../../sdk/files/open-parts.ts';
import { localVersionOf } from '../../sdk/files/source-file.ts';
import { createTemporaryFiles } from '../../sdk/files/temporary-files.ts';

/** The beginning of a file, unpacked. */
export interface FileHead {
  /** The absolute path of the file. */
  path: string;
  /** The name of the file. For a packed file, the name of its content. */
  name: string;
  bytes: Buffer;
  /** True if `bytes` is the complete content. */
  isWhole: boolean;
  /** True if the file is a ZIP archive but not a workbook. */
  isArchive: boolean;
}

/** The number of bytes that are read of any file (I9). */
const HEAD_BYTES_MAX = 4 * 1024 * 1024;
/** Every XLSX workbook has this entry, and an archive does not. */
const WORKBOOK_ENTRY = '[Content_Types].xml';

/**
 * Reads the beginning of a file of this machine. Of a ZIP archive it reads the first file.
 *
 * @throws Fault `usage` if the path is not a file, does not exist or is empty, `source.unreadable` if the file cannot
 *   be read or unpacked
 */
export async function readHead(file: string, signal: AbortSignal): Promise<FileHead> {
  const path = resolve(file);
  const stats = await stat(path, { bigint: true }).catch((error: unknown) => {
    throw fault('usage', `${path} cannot be read: ${fileReasonOf(error)}.`, {
      suggestion: 'Check the path and its permissions.',
      cause: error,
    });
  });
  if (!stats.isFile()) {
    throw fault('usage', `${path} is ${stats.isDirectory() ? 'a folder' : 'not a regular file'}.`, {
      suggestion: 'Name one exported file with --from; more files can be added to the config as further streams.',
    });
  }
  if (stats.size === 0n) throw emptyFault(path);
  const found = { path, label: path, name: file, bytes: Number(stats.size), version: localVersionOf(stats) };
  const temporary = createTemporaryFiles(undefined);
  try {
    const limits = FILE_SOURCE.unpacking.parse({});
    for await (const part of openParts(found, { entry: '*', limits, temporary, document: WORKBOOK_ENTRY })) {
      const { bytes, isWhole } = await bytesOf(part.file.chunks(signal));
      if (bytes.length === 0) throw emptyFault(path);
      return { path, name: part.file.name, bytes, isWhole, isArchive: part.file.name !== file };
    }
    throw emptyFault(path);
  } finally {
    await temporary.close();
  }
}

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const read: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    length += chunk.length;
    if (length > HEAD_BYTES_MAX) return { bytes: Buffer.concat(read).subarray(0, HEAD_BYTES_MAX), isWhole: false };
  }
  return { bytes: Buffer.concat(read), isWhole: true };
}

function emptyFault(path: string): Error {
  return fault('usage', `${path} is empty.`, {
    suggestion: 'Export it again, with at least a few records in it.',
  });
}
