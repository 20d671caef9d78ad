import type { OpenFile } from '../../../src/sdk/files/open-file.ts';
import { readXmlRecords, type XmlRecord, type XmlRecordOptions } from '../../../src/sdk/index.ts';

/** A file whose content is these chunks, made while the file is read. */
export function madeFile(chunks: Iterable<string | Uint8Array>, name = 'export.xml'): OpenFile {
  let position = 0;
  return {
    name,
    bytes: 0,
    position: () => position,
    localPath: () => Promise.reject(new Error('XML is read as a stream.')),
    async *chunks(signal) {
      for (const chunk of chunks) {
        signal.throwIfAborted();
        const bytes = Buffer.from(chunk);
        position += bytes.length;
        yield bytes;
      }
    },
  };
}

/**
 * The reader gathers the beginning of a file before it parses. A test of pieces needs its content behind that
 * beginning.
 */
export const LONG_COMMENT = `<!--${'x'.repeat(1_100)}-->`;

/** All records of a text that is read in pieces of this many bytes. */
export async function recordsOf(
  text: string | Uint8Array,
  options: XmlRecordOptions,
  pieceBytes = 65_536,
): Promise<XmlRecord[]> {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
  return allRecords(madeFile(pieces), options);
}

export async function allRecords(file: OpenFile, options: XmlRecordOptions): Promise<XmlRecord[]> {
  const records: XmlRecord[] = [];
  for await (const batch of readXmlRecords(file, options, new AbortController().signal)) records.push(...batch);
  return records;
}
