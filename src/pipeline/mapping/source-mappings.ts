import type { LookupConfig, MappingDefinition } from '../../domain/mapping.ts';
import type { Profile } from '../../domain/profile.ts';
import type { FindValueByHand } from './lookups/lookups.ts';
import type { AllowedFields } from './make-item.ts';

/** The mappings of one source, with the tables, units and fields that they use. */
export interface SourceMappings {
  /** The id of the source. */
  source: string;
  /** The mappings in the order of the config. An item names its mapping by the position in this list. */
  definitions: readonly MappingDefinition[];
  /** An absolute path; lookup files are relative to it. */
  baseDir: string;
  /** The source's lookup tables by name. */
  lookups?: Readonly<Record<string, LookupConfig>>;
  /** The columns that the lookup tables of all sources take from the streams of this source, by stream. */
  lookedUp?: ReadonlyMap<string, readonly string[]>;
  /** The values that people have given, which replace the values of the tables. They may change between two rows. */
  byHand?: FindValueByHand;
  /** The names of units that only this source uses, with their codes. */
  units?: Readonly<Record<string, string>>;
  /** The fields that the profile allows; undefined to allow any. */
  fields?: AllowedFields;
  /** The fields by which the API identifies items; by default those of the default profile. */
  naturalKeys?: Profile['naturalKeys'];
}
