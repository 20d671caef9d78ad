import type { LookupConfig, MappingDefinition, ValueRule } from '../domain/mapping.ts';
import { isJsonObject } from '../lib/json.ts';
import { type LookupsConfig, Mapping, type MappingConfig, SourceParts } from './config.ts';

/** @param path the path of the mapping in the config, such as `sources[0].mappings[1]` */
export function loadedMapping(
  mapping: MappingConfig,
  path: string,
  resolvePath: (path: string) => string,
): MappingDefinition {
  const { stream, to, each, key, when, refs, fields, rules, onIssue, module } = mapping;
  return {
    stream,
    ...(to === undefined ? {} : { to }),
    ...(each === undefined ? {} : { each }),
    ...(key === undefined ? {} : { key }),
    ...(when === undefined ? {} : { when }),
    ...(refs === undefined ? {} : { refs: present(refs) }),
    ...(fields === undefined ? {} : { fields }),
    ...(rules === undefined ? {} : { rules: ruleMap(rules) }),
    ...(onIssue === 'hold' ? {} : { onIssue }),
    ...(module === undefined ? {} : { module: resolvePath(module) }),
    path,
  };
}

function ruleMap(rules: NonNullable<MappingConfig['rules']>): Record<string, ValueRule> {
  return Object.fromEntries(
    Object.entries(rules).map(([name, { min, max, pattern, required, empty }]) => [
      name,
      {
        required,
        empty,
        ...(min === undefined ? {} : { min }),
        ...(max === undefined ? {} : { max }),
        ...(pattern === undefined ? {} : { pattern }),
      },
    ]),
  );
}

/** The lookup tables of the config, in the form that mappings use. */
export function loadedLookups(lookups: LookupsConfig): Record<string, LookupConfig> {
  return Object.fromEntries(
    Object.entries(lookups).map(([name, { source, stream, file, key, value }]) => [
      name,
      {
        key,
        value,
        ...(source === undefined ? {} : { source }),
        ...(stream === undefined ? {} : { stream }),
        ...(file === undefined ? {} : { file }),
      },
    ]),
  );
}

/** The mappings of a source that can be compiled. */
export interface ReadableMappings {
  source: string;
  definitions: MappingDefinition[];
  lookups: Record<string, LookupConfig>;
  units: Record<string, string>;
}

/** The mappings of each source that can be compiled, even if other parts of the config are wrong. */
export function readableMappings(value: unknown, resolvePath: (path: string) => string): ReadableMappings[] {
  return listIn(value, 'sources').map((source, index) => {
    const definitions = listIn(source, 'mappings').flatMap((mapping, at) => {
      const { success, data } = Mapping.safeParse(mapping);
      if (!success || !isComplete(data)) return [];
      return [loadedMapping(data, `sources[${index}].mappings[${at}]`, resolvePath)];
    });
    const parts = SourceParts.safeParse(source);
    const { id, lookups, units } = parts.success ? parts.data : { id: '', lookups: {}, units: {} };
    return { source: id, definitions, lookups: loadedLookups(lookups), units };
  });
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
