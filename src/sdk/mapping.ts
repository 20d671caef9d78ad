import type { MappingModule } from '../domain/mapping.ts';

export type { MappingModule, MappingTools } from '../domain/mapping.ts';

/** Declares a mapping module; export it as the module's default. */
export function defineMapping(module: MappingModule): MappingModule {
  return module;
}
