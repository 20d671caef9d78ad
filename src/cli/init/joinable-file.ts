import type { Columns } from './columns.ts';
import type { FoundKey } from './key-columns.ts';
import type { ProposedMapping } from './proposed-line.ts';

/** Records of a file or a stream, of which it is known what they become. */
export interface JoinableFile {
  /** The name of the file, for reasons. */
  name: string;
  found: Columns;
  /** False if the file has more records than the sample. */
  isWhole: boolean;
  key: FoundKey | null;
  /** True if a config has the key already. */
  hasKey: boolean;
  mapping: ProposedMapping;
  /** True if the file itself shows what the records are, so that values of other files do not change it. */
  isCertain?: boolean;
}
