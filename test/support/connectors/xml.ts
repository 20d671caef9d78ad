import type { OpenFile } from '../../../src/sdk/files/open-file.ts';
import { readXmlRecords, type XmlRecord, type XmlRecordOptions } from '../../../src/sdk/index.ts';

/** A file that is made of these chunks while it is read. */
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

/** The reader gathers the head of a file before it begins, so what comes in pieces has to stand behind it. */
export const LONG_COMMENT = `<!--${'x'.repeat(1_100)}-->`;

/** All records of a text, fed in pieces of so many bytes. */
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
