import { z } from 'zod';
import { sha256Hex } from '../../lib/hash.ts';
import type { JsonValue } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { type SourceFile, timeOf } from './source-file.ts';

/** The most files of a stream. Each has an entry in the cursor, which is stored with every page. */
const FILES_MAX = 5_000;
const ID_LENGTH = 16;

const Cursor = z.strictObject({
  /**
   * The files that were read to their end, by hashes of their names and versions. The hash of a file without records
   * covers the options too.
   */
  read: z.array(z.string().length(ID_LENGTH)).max(FILES_MAX),
  /** The file that was being read, and how many of its rows were passed on. */
  part: z.strictObject({ file: z.string().length(ID_LENGTH), rows: z.int().min(0) }).nullable(),
});

/**
 * Remembers which files of changes were read. Files are recognised by name and version and not by age, because a copied
 * file may have an old time. A file without records, and a file of which a part was read, are recognised by the options
 * too: with other options they are read again, because these options may find records.
 *
 * @param files all files that exist; the cursor forgets files that do not
 * @param options a text that differs for options with which a file may have other records
 * @throws a `sourceFault` for a cursor that this code did not write, or too many files
 */
export function createFileProgress(files: readonly SourceFile[], options: string, cursor: JsonValue) {
  if (files.length > FILES_MAX) {
    throw sourceFault(`${files.length} files of changes are too many: at most ${FILES_MAX} are read.`, {
      suggestion: 'Let dpp-sync move or delete the files that were read: set `after: archive` or `after: delete`.',
    });
  }
  const stored = cursor === null ? { read: [], part: null } : parse(cursor);
  const idWithOptions = (file: SourceFile): string => idOf(file, options);
  const present = new Set(files.flatMap((file) => [idOf(file), idWithOptions(file)]));
  const read = new Set(stored.read.filter((id) => present.has(id)));
  const isRead = (file: SourceFile): boolean => read.has(idOf(file)) || read.has(idWithOptions(file));
  const unread = (): SourceFile[] => files.filter((file) => !isRead(file)).toSorted(byAge);
  return {
    /**
     * The files that were not read to their end, the oldest first. Files with the same time are in the order of their
     * names.
     */
    unread,
    /** Sentences about unread files that are older than a file that was read. */
    outOfOrder(): string[] {
      const last = files.filter(isRead).toSorted(byAge).at(-1);
      if (last === undefined) return [];
      return unread().flatMap((file) =>
        timeOf(file.version) < timeOf(last.version)
          ? [
              `${file.label} is older than ${last.label}, which was read before. Its changes apply now, after the newer ones.`,
            ]
          : [],
      );
    },
    /** How many rows of a file were already passed on. */
    rowsOf: (file: SourceFile): number => (stored.part?.file === idWithOptions(file) ? stored.part.rows : 0),
    /** The cursor after this many rows of a file. */
    partOf: (file: SourceFile, rows: number): JsonValue => ({
      read: [...read],
      part: { file: idWithOptions(file), rows },
    }),
    /**
     * The cursor after a whole file.
     *
     * @param isWithoutRecords true for a file that has no record with these options, although it has other content
     */
    wholeOf(file: SourceFile, isWithoutRecords: boolean): JsonValue {
      read.add(isWithoutRecords ? idWithOptions(file) : idOf(file));
      return { read: [...read], part: null };
    },
    /** The files that had no record when they were read with these options. */
    withoutRecords: (): SourceFile[] => files.filter((file) => read.has(idWithOptions(file))),
  };
}

export type FileProgress = ReturnType<typeof createFileProgress>;

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

function idOf(file: SourceFile, options?: string): string {
  const parts = [file.name, file.version, ...(options === undefined ? [] : [options])];
  return sha256Hex(parts.join('\n')).slice(0, ID_LENGTH);
}
