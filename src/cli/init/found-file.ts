import type { Columns } from './columns.ts';
import type { JoinableFile } from './joinable-file.ts';
import type { FoundKey } from './key-columns.ts';
import type { Sample } from './read-sample.ts';
import type { FileHead, FoundOption, Recognised } from './recognise-format.ts';
import type { FoundTree } from './recognise-tree.ts';

/** A stream of a file, with its first records. */
export interface FoundStream {
  name: string;
  /** The options of the stream besides its path. */
  options: FoundOption[];
  sample: Sample;
  found: Columns;
  /** The key of the stream, if it is not the key of its mapping. */
  key?: FoundKey | null;
  /** Why the stream needs no key; absent if it needs one. */
  keyless?: string;
}

/** Records of a stream that become items of one kind. A stream may have several, such as the assemblies and the lines of a bill. */
export interface FoundRecords extends JoinableFile {
  stream: FoundStream;
}

/** A lookup table over a stream of the same source. */
export interface FoundLookup {
  name: string;
  stream: string;
  key: string;
  value: string;
  reason: string;
}

/** What was found in a file with records. */
export interface FoundFile {
  head: FileHead;
  /** The path of the file, relative to the config. */
  path: string;
  source: string;
  recognised: Recognised;
  streams: readonly FoundStream[];
  records: readonly FoundRecords[];
  lookups: readonly FoundLookup[];
  /** Given for a bill with levels, whose records depend on what the other files have. */
  tree?: FoundTree;
}
