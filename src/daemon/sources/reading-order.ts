import { passportRulesOf } from '../../config/loaded-config.ts';
import type { RuntimeConfig } from './open-source.ts';

/**
 * Sources of BOM items come last. A product that then has no BOM items will get none, so its passport need not wait for
 * another read.
 */
export function inOrder(config: RuntimeConfig, selected: readonly string[]): string[] {
  const { bomSources } = passportRulesOf(config);
  const isLast = (source: string) => bomSources.includes(source);
  return [...selected.filter((source) => !isLast(source)), ...selected.filter(isLast)];
}
