import type { MappingDefinition } from '../mapping.ts';

/** Why each mapping of a stream makes no item of a row that is excluded, one text for each mapping. */
export function whyExcluded(mappings: readonly MappingDefinition[]): string[] {
  return mappings.map(({ path, when, each, module }) => {
    const reasons = [
      ...(when === undefined ? [] : [`when is false: ${when}`]),
      ...(each === undefined ? [] : [`each is an empty list: ${each}`]),
      ...(module === undefined ? [] : ['its module makes no item']),
    ];
    return `${path.slice(path.lastIndexOf('.') + 1)}: ${reasons.join('; or ')}`;
  });
}
