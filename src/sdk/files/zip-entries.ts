import type { Entry, ZipFile } from 'yauzl';
import { messageOf } from '../../lib/errors.ts';
import { sourceFault } from '../faults.ts';
import type { Unpacking } from './file-options.ts';
import { matcherOf } from './glob.ts';
import { brokenFault, tooLargeFault } from './inflated.ts';
import { ONE_FORMAT } from './recognise.ts';
import type { StoredFile } from './stored-file.ts';

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
  const matcher = matcherOf(pattern);
  const isHidden = (path: string) => path.slice(path.lastIndexOf('/') + 1).startsWith('.');
  return (name) => matcher.test(name) && (isHidden(pattern) || !isHidden(name));
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
