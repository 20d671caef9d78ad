import type { Mapper, MappingDefinition } from '../domain/mapping.ts';
import { compileMappings } from '../pipeline/mapping/compile-mappings.ts';
import { mappingFault } from '../pipeline/mapping/definition.ts';

/** The compiled mappings of every source, as they were when last refreshed. */
export interface Mappers {
  /**
   * Compiles a source's mappings anew, so that a changed lookup file or module counts without a restart.
   *
   * @throws Fault `mapping.invalid` naming every problem; the mappings from before stay in place then
   */
  refresh(source: string): Promise<Mapper>;
  refreshAll(): Promise<void>;
  /** Null for a source that the config no longer has. */
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
