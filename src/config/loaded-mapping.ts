import type { MappingDefinition } from '../domain/mapping.ts';
import { isJsonObject } from '../lib/json.ts';
import { Mapping, type MappingConfig } from './config.ts';

/** @param path where it stands in the config, as `sources[0].mappings[1]` */
export function loadedMapping(
  mapping: MappingConfig,
  path: string,
  resolvePath: (path: string) => string,
): MappingDefinition {
  const { stream, to, key, when, refs, fields, module } = mapping;
  return {
    stream,
    ...(to === undefined ? {} : { to }),
    ...(key === undefined ? {} : { key }),
    ...(when === undefined ? {} : { when }),
    ...(refs === undefined ? {} : { refs: present(refs) }),
    ...(fields === undefined ? {} : { fields }),
    ...(module === undefined ? {} : { module: resolvePath(module) }),
    path,
  };
}

/** The mappings of each source that can be compiled, whatever else is wrong with the config. */
export function readableMappings(value: unknown, resolvePath: (path: string) => string): MappingDefinition[][] {
  return listIn(value, 'sources').map((source, index) =>
    listIn(source, 'mappings').flatMap((mapping, at) => {
      const { success, data } = Mapping.safeParse(mapping);
      if (!success || !isComplete(data)) return [];
      return [loadedMapping(data, `sources[${index}].mappings[${at}]`, resolvePath)];
    }),
  );
}

function isComplete({ module, to, key, fields }: MappingConfig): boolean {
  return module !== undefined || (to !== undefined && key !== undefined && fields !== undefined);
}

function listIn(value: unknown, name: string): unknown[] {
  const list = isJsonObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
}

/** Leaves out the members without a value. */
function present<Key extends string>(members: { [K in Key]?: string | undefined }): { [K in Key]?: string } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in Key]?: string };
}
