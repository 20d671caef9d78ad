import { z } from 'zod';
import { sha256Hex } from '../../lib/hash.ts';
import type { JsonValue } from '../../lib/json.ts';
import { sourceFault } from '../faults.ts';
import { type SourceFile, timeOf } from './source-file.ts';

/** The most files of a stream. Each has an entry in the cursor, which is stored with every page. */
const FILES_MAX = 5_000;
const ID_LENGTH = 16;

const Cursor = z.strictObject({
  /** The files that were read to their end, by hashes of their names and versions. */
  read: z.array(z.string().length(ID_LENGTH)).max(FILES_MAX),
  /** The file that was being read, and how many of its rows were passed on. */
  part: z.strictObject({ file: z.string().length(ID_LENGTH), rows: z.int().min(0) }).nullable(),
});

/**
 * Remembers which files of changes were read. Files are recognised by name and version and not by age, because a copied file may
 * have an old time.
 */
export interface FileProgress {
  /**
   * The files that were not read to their end, the oldest first. Files with the same time are in the order of their
   * names.
   */
  unread(): SourceFile[];
  /** How many rows of a file were already passed on. */
  rowsOf(file: SourceFile): number;
  /** The cursor after this many rows of a file. */
  partOf(file: SourceFile, rows: number): JsonValue;
  /** The cursor after a whole file. */
  wholeOf(file: SourceFile): JsonValue;
}

/**
 * @param files all files that exist; the cursor forgets files that do not
 * @throws a `sourceFault` for a cursor that this code did not write, or too many files
 */
export function createFileProgress(files: readonly SourceFile[], cursor: JsonValue): FileProgress {
  if (files.length > FILES_MAX) {
    throw sourceFault(`${files.length} files of changes are too many: at most ${FILES_MAX} are read.`, {
      suggestion: 'Let dpp-sync move or delete the files that were read: set `after: archive` or `after: delete`.',
    });
  }
  const stored = cursor === null ? { read: [], part: null } : parse(cursor);
  const idByFile = new Map(files.map((file) => [file, idOf(file)]));
  const present = new Set(idByFile.values());
  const read = new Set(stored.read.filter((id) => present.has(id)));
  const id = (file: SourceFile): string => idByFile.get(file) ?? idOf(file);
  return {
    unread: () => files.filter((file) => !read.has(id(file))).toSorted(byAge),
    rowsOf: (file) => (stored.part?.file === id(file) ? stored.part.rows : 0),
    partOf: (file, rows) => ({ read: [...read], part: { file: id(file), rows } }),
    wholeOf(file) {
      read.add(id(file));
      return { read: [...read], part: null };
    },
  };
}

function byAge(a: SourceFile, b: SourceFile): number {
  const [older, newer] = [timeOf(a.version), timeOf(b.version)];
  return older < newer ? -1 : older > newer ? 1 : a.name < b.name ? -1 : 1;
}

function parse(cursor: JsonValue): z.infer<typeof Cursor> {
  const parsed = Cursor.safeParse(cursor);
  if (parsed.success) return parsed.data;
  throw sourceFault('The stored position among the files of changes was not written by this connector.', {
    suggestion: 'If the connector of the source was changed, give the source another id.',
  });
}

function idOf(file: SourceFile): string {
  return sha256Hex(`${file.name}\n${file.version}`).slice(0, ID_LENGTH);
}
