import { ITEM_KINDS } from '../../domain/item.ts';
import type { LookupTable } from '../../domain/lookup.ts';
import type { LookupConfig, Mapper, MappingDefinition } from '../../domain/mapping.ts';
import { allowedFieldsOf, type Profile } from '../../domain/profile.ts';
import { compileMappings } from '../../pipeline/mapping/compile-mappings.ts';
import { mappingFault } from '../../pipeline/mapping/definition.ts';
import type { AllowedFields } from '../../pipeline/mapping/make-item.ts';
import { provideSdk } from './provide-sdk.ts';

/** The compiled mappings of every source, as of their last refresh. */
export interface Mappers {
  /**
   * Compiles a source's mappings again, so that a changed lookup file or module takes effect without a restart.
   *
   * @throws Fault `mapping.invalid` with all problems; the earlier mappings stay in use then
   */
  refresh(source: string): Promise<Mapper>;
  refreshAll(): Promise<void>;
  /** The lookup tables of every source by its id. */
  lookups(): ReadonlyMap<string, readonly LookupTable[]>;
  /** Null for a source that is not in the config any more. */
  of(source: string): Mapper | null;
}

/** The parts of a configured source that its mapper is made of. */
interface MappedSource {
  id: string;
  mappings: readonly MappingDefinition[];
  lookups: Readonly<Record<string, LookupConfig>>;
  units: Readonly<Record<string, string>>;
}

export function createMappers(options: {
  sources: readonly MappedSource[];
  profile: Profile;
  /** The config file's folder. */
  baseDir: string;
}): Mappers {
  const { sources, baseDir, profile } = options;
  const fields = allowedFields(profile);
  const compiled = new Map<string, Mapper>();

  async function compile(wanted: typeof sources): Promise<void> {
    provideSdk();
    const results = await Promise.all(
      wanted.map(async ({ id, mappings, lookups, units }) => ({
        id,
        result: await compileMappings({ source: id, definitions: mappings, baseDir, lookups, units, fields }),
      })),
    );
    const problems = results.flatMap(({ result }) => (result.ok ? [] : result.error));
    if (problems.length > 0) throw mappingFault(problems);
    for (const { id, result } of results) if (result.ok) compiled.set(id, result.value);
  }

  return {
    async refresh(source) {
      await compile(sources.filter(({ id }) => id === source));
      const mapper = compiled.get(source);
      if (!mapper) throw new Error(`There is no source ${source}.`);
      return mapper;
    },
    refreshAll: () => compile(sources),
    lookups: () => new Map([...compiled].map(([id, mapper]) => [id, mapper.lookups ?? []])),
    of: (source) => compiled.get(source) ?? null,
  };
}

function allowedFields(profile: Profile): AllowedFields {
  const entries = ITEM_KINDS.map((kind) => [kind, allowedFieldsOf(profile, kind)] as const);
  return Object.fromEntries(entries) as unknown as AllowedFields;
}
