import { dirname } from 'node:path';
import pLimit from 'p-limit';
import { type ConfigProblem, problemsFault } from '../../config/problem.ts';
import { ITEM_KINDS } from '../../domain/item.ts';
import type { LookupTable } from '../../domain/lookup.ts';
import type { LookupConfig, Mapper, MappingDefinition } from '../../domain/mapping.ts';
import type { PeopleLedger, ValueByHand } from '../../domain/ports/ledger/care-ledger.ts';
import { allowedFieldsOf, type Profile } from '../../domain/profile.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { compileMappings } from '../../pipeline/mapping/compile-mappings.ts';
import type { AllowedFields } from '../../pipeline/mapping/make-item.ts';
import { describeProblem, type MappingProblem } from '../../pipeline/mapping/mapping-error.ts';
import { provideSdk } from './load-connector.ts';

/** The settings of a source from which its mapper is made. */
export interface MappedSource {
  id: string;
  mappings: readonly MappingDefinition[];
  lookups: Readonly<Record<string, LookupConfig>>;
  units: Readonly<Record<string, string>>;
  /** Columns that are never stored, so that no mapping can use them. */
  omit: readonly string[];
  /** The line of a place in the source; null if it is not known. */
  lineOf: (path: string) => number | null;
}

/** The modules and lookup files of at most this many sources are read at once. A config may have hundreds of sources (I9). */
const COMPILED_AT_ONCE = 4;

/** The compiled mappings of every source, from their last refresh. */
export function createMappers(options: {
  /** The present sources. They are read at each call, because a reload of the config may replace them. */
  sources: () => readonly MappedSource[];
  profile: Profile;
  /** The config file. Paths are relative to its folder. */
  file: string;
}) {
  const { sources, file, profile } = options;
  const baseDir = dirname(file);
  const fields = allowedFields(profile);
  const compiled = new Map<string, Mapper>();
  let byHand = new Map<string, string>();
  const findByHand = (lookup: string, key: string) => (byHand.size === 0 ? undefined : byHand.get(nameOf(lookup, key)));

  async function compile(wanted: readonly MappedSource[]): Promise<Map<string, Mapper>> {
    provideSdk();
    const results = await pLimit(COMPILED_AT_ONCE).map(
      wanted,
      async ({ id, mappings, lookups, units, omit, lineOf }) => ({
        id,
        lineOf,
        result: await compileMappings({
          source: id,
          definitions: mappings,
          baseDir,
          lookups,
          units,
          omit,
          fields,
          naturalKeys: profile.naturalKeys,
          lookedUp: columnsLookedUp(id, [...sources(), ...wanted]),
          byHand: findByHand,
        }),
      }),
    );
    const problems = results.flatMap(({ result, lineOf }) =>
      result.ok ? [] : result.error.map((problem) => placed(problem, lineOf)),
    );
    if (problems.length > 0) throw problemsFault('mapping.invalid', [{ file, problems }]);
    return new Map(results.flatMap(({ id, result }) => (result.ok ? [[id, result.value] as const] : [])));
  }

  async function use(wanted: readonly MappedSource[]): Promise<void> {
    for (const [id, mapper] of await compile(wanted)) compiled.set(id, mapper);
  }

  return {
    /**
     * Compiles a source's mappings again, so that a changed lookup file or module takes effect without a restart.
     *
     * @throws Fault `mapping.invalid` with all problems; then the earlier mappings stay in use
     */
    async refresh(source: string): Promise<Mapper> {
      await use(sources().filter(({ id }) => id === source));
      const mapper = compiled.get(source);
      if (!mapper) throw new Error(`There is no source ${source}.`);
      return mapper;
    },
    refreshAll: (): Promise<void> => use(sources()),
    /**
     * Only compiles the mappings of these sources, for example to check a new config. The present mappers stay in use.
     *
     * @throws Fault `mapping.invalid` with all problems
     */
    compile,
    /** Uses another mapper for a source from now on; null if the config no longer has the source. */
    replace(source: string, mapper: Mapper | null): void {
      if (mapper === null) compiled.delete(source);
      else compiled.set(source, mapper);
    },
    /** The lookup tables of every source by its id. */
    lookups: (): ReadonlyMap<string, readonly LookupTable[]> =>
      new Map([...compiled].map(([id, mapper]) => [id, mapper.lookups ?? []])),
    /**
     * Sets the values that people have given for keys of lookup tables, in place of all values that were set before. Every
     * mapper uses them from its next lookup on, without a refresh.
     */
    useValues(values: readonly ValueByHand[]): void {
      byHand = new Map(values.map(({ lookup, key, value }) => [nameOf(lookup, key), value]));
    },
    /** Null for a source that is not in the config any more. */
    of: (source: string): Mapper | null => compiled.get(source) ?? null,
  };
}

export type Mappers = ReturnType<typeof createMappers>;

function placed(problem: MappingProblem, lineOf: MappedSource['lineOf']): ConfigProblem {
  const { path, cure } = problem;
  return { path, line: lineOf(path), message: describeProblem(problem), ...(cure === undefined ? {} : { cure }) };
}

/** True if neither the mapping nor the rows of its lookup files have changed. */
export function isSameMapping(before: Mapper, after: Mapper): boolean {
  return contentOf(before) === contentOf(after);
}

/** A hash of what `isSameMapping` compares, for a mapping of another thread. */
export function mappingDigest(mapper: Mapper): string {
  return sha256Hex(contentOf(mapper));
}

function contentOf({ revision, lookups = [] }: Mapper): string {
  return JSON.stringify([revision, lookups.map(({ id, entries }) => [id, entries === null ? null : [...entries]])]);
}

/** The columns that lookup tables take from the streams of a source, by stream. */
function columnsLookedUp(source: string, by: readonly MappedSource[]): Map<string, string[]> {
  const columns = new Map<string, string[]>();
  for (const { id, lookups } of by) {
    for (const { source: of = id, stream, key, value } of Object.values(lookups)) {
      if (of === source && stream !== undefined)
        columns.set(stream, [...(columns.get(stream) ?? []), ...key, ...[value].flat()]);
    }
  }
  return columns;
}

/** No name of a table has this character. */
function nameOf(lookup: string, key: string): string {
  return `${lookup}\0${key}`;
}

function allowedFields(profile: Profile): AllowedFields {
  const entries = ITEM_KINDS.map((kind) => [kind, allowedFieldsOf(profile, kind)] as const);
  return Object.fromEntries(entries) as unknown as AllowedFields;
}

/**
 * Passes each value that a person gives for a lookup table on to the mappers, after the ledger has stored it. That
 * commit makes the records that have used the key wait for the mapping. A record that is mapped after the commit and
 * before the mappers have the value is mapped again, because its lookup entry has changed.
 */
export async function withValuesByHand<Ledger extends PeopleLedger>(ledger: Ledger, mappers: Mappers): Promise<Ledger> {
  const follow = async () => mappers.useValues(await ledger.valuesByHand());
  await follow();
  return {
    ...ledger,
    async setLookupValue(value) {
      const set = await ledger.setLookupValue(value);
      await follow();
      return set;
    },
    async removeLookupValue(lookup, key) {
      const removed = await ledger.removeLookupValue(lookup, key);
      await follow();
      return removed;
    },
  };
}
