import type { Mapper, MappingDefinition } from '../../domain/mapping.ts';
import { compileMappings } from '../../pipeline/mapping/compile-mappings.ts';
import { mappingFault } from '../../pipeline/mapping/definition.ts';
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
  /** Null for a source that is not in the config any more. */
  of(source: string): Mapper | null;
}

export function createMappers(options: {
  sources: readonly { id: string; mappings: readonly MappingDefinition[] }[];
  /** The config file's folder. */
  baseDir: string;
}): Mappers {
  const { sources, baseDir } = options;
  const compiled = new Map<string, Mapper>();

  async function compile(wanted: typeof sources): Promise<void> {
    provideSdk();
    const results = await Promise.all(
      wanted.map(async ({ id, mappings }) => ({
        id,
        result: await compileMappings({ definitions: mappings, baseDir }),
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
    of: (source) => compiled.get(source) ?? null,
  };
}
