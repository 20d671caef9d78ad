import type { Columns } from './columns.ts';
import type { FoundKey } from './key-columns.ts';
import type { ProposedMapping } from './proposed-line.ts';
import type { Sample } from './read-sample.ts';
import type { FileHead, FoundOption, Recognised } from './recognise-format.ts';

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

/** The records of a file, with their streams and the tables that their mappings look up. */
export type Divided = Pick<FoundFile, 'streams' | 'records' | 'lookups'>;

/** What was found in a file with records, or in a folder of files that are one object each. */
export interface FoundFile {
  /** The beginning of the file, or of the first one. */
  head: FileHead;
  /** The path of the file, or the pattern of the files, for people. */
  shown: string;
  /** The path of the file, relative to the config. */
  path: string;
  source: string;
  recognised: Recognised;
  streams: readonly FoundStream[];
  records: readonly FoundRecords[];
  lookups: readonly FoundLookup[];
  /** Given if the records depend on the other files: the records, from the keys of the articles in other files. */
  divide?: (known: ReadonlySet<string>) => Divided;
}

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
