import type { LookupConfig, MappingDefinition } from '../../domain/mapping.ts';
import type { Profile } from '../../domain/profile.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { sha256Hex } from '../../lib/hash.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { COUNTRY_NAMES_VERSION } from './functions/country.ts';
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

/**
 * The version of this program's code for mappings: functions, conversions and validation. Raise it with each change of
 * their results, so that stored records are mapped again after an upgrade.
 */
const HELPERS_VERSION = 6;

/**
 * A hash over all that the mapping of a record depends on besides the record and the entries that it looks up. Paths do
 * not count: a mapping that is moved within the config, or a config in another folder, makes the same items.
 *
 * @param modules the hashes of the modules' sources
 */
export function revisionOf(
  { definitions, lookups, units, fields, naturalKeys }: SourceMappings,
  modules: JsonObject,
): string {
  const declared = definitions.map(({ stream, to, each, key, when, refs, fields: given, rules, onIssue, module }) => ({
    stream,
    to: to ?? null,
    each: each?.trim() ?? null,
    key: key?.trim() ?? null,
    when: when?.trim() ?? null,
    refs: trimmed(refs),
    fields: trimmed(given),
    rules: plain(rules ?? {}),
    onIssue: onIssue ?? null,
    module: module !== undefined,
  }));
  const usesModules = Object.keys(modules).length > 0;
  return sha256Hex(
    canonicalJson({
      version: HELPERS_VERSION,
      countryNames: COUNTRY_NAMES_VERSION,
      mappings: declared,
      modules,
      lookups: plain(lookups ?? {}),
      units: plain(units ?? {}),
      naturalKeys: plain(naturalKeys ?? {}),
      // The config has checked the fields of expressions already.
      fields: usesModules ? plain(fields ?? {}) : null,
    }),
  );
}

/** Stands for all on which the result of an expression depends besides its text and the row. */
export function functionsOf({ units }: Pick<SourceMappings, 'units'>): string {
  return sha256Hex(canonicalJson([HELPERS_VERSION, COUNTRY_NAMES_VERSION, plain(units ?? {})]));
}

function trimmed(expressions: Record<string, string | undefined> = {}): JsonObject {
  return Object.fromEntries(Object.entries(expressions).map(([name, text]) => [name, text?.trim() ?? null]));
}

function plain(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
