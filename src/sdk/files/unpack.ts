import { pipeline, Readable } from 'node:stream';
import { crc32, createGunzip, createInflateRaw } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { messageOf, systemCodeOf } from '../../lib/errors.ts';
import { sourceFault } from '../connector.ts';
import type { Unpacking } from './file-options.ts';
import { isHiddenName, matcherOf } from './location.ts';
import type { StoredFile } from './open-file.ts';
import { ONE_FORMAT } from './recognise.ts';

const CHUNK_BYTES = 64 * 1024;
/** Up to this size the ratio is not limited, because a small file may consist mostly of repetitions. */
const UNLIMITED_RATIO_BYTES = 10_000_000;

interface Packed {
  /** The name of the file in messages: `in/x.csv.gz`. */
  label: string;
  packed: AsyncIterable<Buffer>;
  /** How many packed bytes were read so far. */
  position: () => number;
  /** The limits for the unpacked bytes. */
  limits: Unpacking;
}

/**
 * Unpacks a gzip file.
 *
 * @throws a `sourceFault` for one that is cut off, broken or grows beyond the limits
 */
export function gunzipped(file: Packed): AsyncGenerator<Buffer> {
  return bounded(wholeGunzip(file), file);
}

/**
 * zlib ignores everything after a part if a zero follows it, because tapes fill their blocks with zeros. Other bytes are a
 * further part whose beginning is damaged.
 */
async function* wholeGunzip(file: Packed): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  let given = 0;
  let last = Buffer.alloc(0);
  async function* noted(): AsyncGenerator<Buffer> {
    for await (const chunk of file.packed) {
      given += chunk.length;
      last = Buffer.concat([last.subarray(-CHUNK_BYTES), chunk]);
      yield chunk;
    }
  }
  yield* inflate({ ...file, packed: noted() }, gunzip);
  const left = Math.min(given - gunzip.bytesWritten, last.length);
  if (left > 0 && last.subarray(-left).some((byte) => byte !== 0))
    throw brokenFault(file.label, 'the packed data go on behind their end, and are damaged there');
}

/** Unpacks an entry of an archive, and compares the result with the size and the checksum that the archive states. */
export async function* unzipped(
  file: Packed,
  entry: { isCompressed: boolean; bytes: number; crc32: number },
): AsyncGenerator<Buffer> {
  let bytes = 0;
  let checksum = 0;
  const content = entry.isCompressed ? inflate(file, createInflateRaw({ chunkSize: CHUNK_BYTES })) : file.packed;
  for await (const chunk of bounded(content, file)) {
    bytes += chunk.length;
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (bytes !== entry.bytes || checksum !== entry.crc32)
    throw brokenFault(file.label, 'its checksum is not the stated one');
}

async function* inflate(
  { label, packed }: Packed,
  inflater: NodeJS.ReadWriteStream & Readable,
): AsyncGenerator<Buffer> {
  let sourceError: unknown;
  const source = Readable.from(
    noting(packed, (error) => (sourceError = error)),
    { highWaterMark: 1 },
  );
  // An error of either stream ends the other one, and is thrown by the loop.
  pipeline(source, inflater, () => undefined);
  try {
    for await (const chunk of inflater) yield chunk as Buffer;
  } catch (error) {
    if (sourceError instanceof Error) throw sourceError;
    const code = systemCodeOf(error);
    if (code === undefined || !code.startsWith('Z_')) throw error;
    throw code === 'Z_BUF_ERROR'
      ? brokenFault(label, 'it is cut off')
      : brokenFault(label, 'its packed data are damaged');
  }
}

async function* noting<T>(source: AsyncIterable<T>, note: (error: unknown) => void): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    note(error);
    throw error;
  }
}

/** A few bytes can be unpacked to terabytes, so the result is counted. */
async function* bounded(chunks: AsyncIterable<Buffer>, { label, position, limits }: Packed): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > limits.maxBytes) throw tooLargeFault(label, limits);
    if (bytes > UNLIMITED_RATIO_BYTES && bytes > position() * limits.maxRatio) {
      throw sourceFault(
        `${label} grows to more than ${limits.maxRatio} times its size when it is unpacked. Files that are made to fill a disk do that.`,
        { suggestion: 'If the file is right, raise `unpacking.maxRatio` in the options of the source.' },
      );
    }
    yield chunk;
  }
}

function tooLargeFault(label: string, { maxBytes }: Unpacking): Error {
  return sourceFault(`${label} is unpacked to more than ${maxBytes} bytes.`, {
    suggestion: 'If the file is right, raise `unpacking.maxBytes` in the options of the source.',
  });
}

function brokenFault(label: string, why: string): Error {
  return sourceFault(`${label} cannot be unpacked: ${why}.`, {
    suggestion: 'Export or transfer the file again.',
  });
}

const STORED = 0;
const DEFLATED = 8;
const LISTED_MAX = 100_000;
/** At most this many names of entries are in a message. */
const NAMES_SHOWN = 5;

/** A ZIP archive that is open, with the entries that are wanted, in the order of their names. */
interface ZipArchive {
  zip: ZipFile;
  entries: readonly Entry[];
}

/** Every document of Microsoft Office has this entry, and other archives do not. */
const OFFICE_ENTRY = '[Content_Types].xml';

/**
 * @param document the entry by which a file of the format is recognised
 * @returns null for a file of the format, and for a file that is so damaged that only the format can describe it
 * @throws a `sourceFault` for an archive that cannot be read, or has none of the entries
 */
export async function openZip(
  stored: StoredFile,
  { pattern, document, limits }: { pattern: string; document: string | undefined; limits: Unpacking },
): Promise<ZipArchive | null> {
  const { label } = stored.file;
  const found: Entry[] = [];
  const isWanted = createEntryFilter(pattern);
  const files = new Set<string>();
  const { fromFdPromise } = await import('yauzl');
  let zip: ZipFile | undefined;
  try {
    // `autoClose` is off, because the descriptor belongs to the stored file.
    zip = await fromFdPromise(stored.fd, { lazyEntries: true, autoClose: false });
    if (zip.entryCount > LISTED_MAX) throw new Error(`it has ${zip.entryCount} entries, more than ${LISTED_MAX}`);
    // The library throws at a name that leads out of a folder, although no entry is ever written under its name.
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName === document) return null;
      // This is a document of another office program. The format gives the best description of it.
      if (document !== undefined && entry.fileName === 'mimetype') return null;
      if (entry.fileName === OFFICE_ENTRY) throw officeFault(label);
      if (entry.fileName.endsWith('/')) continue;
      if (files.has(entry.fileName)) throw new Error(`it has two entries of the name ${entry.fileName}`);
      files.add(entry.fileName);
      if (isWanted(entry.fileName)) found.push(entry);
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'Fault') throw error;
    // The document is damaged. The format gives the best description of the damage.
    if (document !== undefined && zip === undefined) return null;
    throw brokenFault(label, messageOf(error).replace(/\.$/, ''));
  }
  if (found.length === 0) throw nothingWanted(label, pattern, [...files]);
  for (const entry of found) assertReadable(label, entry);
  if (found.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0) > limits.maxBytes) {
    throw tooLargeFault(label, limits);
  }
  return { zip, entries: found.toSorted((a, b) => (a.fileName < b.fileName ? -1 : 1)) };
}

/** Hidden files are left out as in folders: the archives of macOS have one for each file. */
function createEntryFilter(pattern: string): (name: string) => boolean {
  const matches = matcherOf(pattern);
  const isHidden = (path: string) => isHiddenName(path.slice(path.lastIndexOf('/') + 1));
  return (name) => matches(name) && (isHidden(pattern) || !isHidden(name));
}

function nothingWanted(label: string, pattern: string, names: readonly string[]): Error {
  const shown = names.slice(0, NAMES_SHOWN).join(', ');
  const found = names.length === 0 ? 'It is empty.' : `It has ${shown}${names.length > NAMES_SHOWN ? ', …' : ''}.`;
  return sourceFault(`${label} has no entry that matches ${pattern}. ${found}`, {
    suggestion: 'Check the archive, and `entry` of the stream.',
  });
}

function assertReadable(label: string, entry: Entry): void {
  const name = `${label}/${entry.fileName}`;
  if (entry.isEncrypted()) {
    throw sourceFault(`${name} is encrypted.`, {
      suggestion: 'Write the archive without a password, and use an encrypted connection instead.',
    });
  }
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw sourceFault(`${name} is compressed by method ${entry.compressionMethod}, which is not supported.`, {
      suggestion: 'Write the archive with the usual method, deflate (8).',
    });
  }
}

function officeFault(label: string): Error {
  return sourceFault(`${label} is an XLSX workbook or another office document, which this connector does not read.`, {
    suggestion: `Use \`connector: xlsx\` for a workbook, or export the data in the format of this connector. ${ONE_FORMAT}`,
  });
}
