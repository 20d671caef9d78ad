import type { Columns } from './columns.ts';
import type { FoundKey } from './key-columns.ts';
import type { ProposedMapping } from './proposed-line.ts';

/** A file or a stream of which it is known what its records are. */
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
}
