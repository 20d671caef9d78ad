import type { LookupConfig, MappingDefinition } from '../../domain/mapping.ts';
import type { FindValueByHand } from './lookups/lookups.ts';
import type { AllowedFields } from './make-item.ts';

/** The mappings of one source, and what they refer to. */
export interface SourceMappings {
  /** The id of the source. */
  source: string;
  /** In the order of the config; the items count their mapping by it. */
  definitions: readonly MappingDefinition[];
  /** An absolute path; lookup files are relative to it. */
  baseDir: string;
  /** The source's lookup tables by name. */
  lookups?: Readonly<Record<string, LookupConfig>>;
  /** The values that people have given, which win over the tables. They may change between two rows. */
  byHand?: FindValueByHand;
  /** The source's own names of units, with their codes. */
  units?: Readonly<Record<string, string>>;
  /** The fields that the profile allows; undefined to allow any. */
  fields?: AllowedFields;
}
