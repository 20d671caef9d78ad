import { open } from 'node:fs/promises';
import { contentFault, recogniseContent, sourceFault } from '../../src/sdk/index.ts';

const HEAD_BYTES = 4_096;
/** An encrypted workbook is an OLE file with this entry, whose name is written in UTF-16. */
const ENCRYPTED_ENTRY = 'EncryptedPackage';
const SEARCHED_BYTES = 1024 * 1024;

/** @throws a `sourceFault` if the file is not a workbook; it names the real format */
export async function assertWorkbook(path: string, name: string): Promise<void> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const head = Buffer.alloc(Math.min(size, HEAD_BYTES));
    await handle.read(head, 0, head.length, 0);
    const kind = recogniseContent(head);
    if (kind === 'spreadsheet' || kind === 'zip') return;
    if (size === 0) throw sourceFault(`${name} is empty.`, { suggestion: 'Check the export.' });
    if (kind === 'compound') throw compoundFault(name, await readEnds(handle, size));
    if (kind !== null) throw contentFault(name, kind, 'an XLSX workbook', head);
    throw sourceFault(`${name} is not an XLSX workbook.`, {
      suggestion: 'If the file is text, use `connector: csv`, whatever the extension of the file is.',
    });
  } finally {
    await handle.close();
  }
}

/** The directory of an OLE file may be anywhere, but programs write it at the beginning or the end. */
async function readEnds(handle: Awaited<ReturnType<typeof open>>, size: number): Promise<Buffer> {
  const length = Math.min(size, SEARCHED_BYTES);
  const ends = Buffer.alloc(2 * length);
  await handle.read(ends, 0, length, 0);
  await handle.read(ends, length, length, size - length);
  return ends;
}

function compoundFault(name: string, ends: Buffer): Error {
  return ends.includes(ENCRYPTED_ENTRY, 0, 'utf16le')
    ? sourceFault(`${name} is an encrypted workbook: it needs a password.`, {
        suggestion: 'Save the workbook without a password. Protect the folder of the file instead.',
      })
    : sourceFault(`${name} is a workbook of Excel 97 to 2003 (.xls), not an XLSX workbook.`, {
        suggestion: 'Save it as .xlsx.',
      });
}
