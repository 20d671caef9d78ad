import type { PassportRules } from '../domain/passport.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** The rules of a config for passports. A module may make any items, so its source counts as a source of BOM items. */
export function passportRulesOf({ passports, sources }: Pick<RuntimeConfig, 'passports' | 'sources'>): PassportRules {
  const sourcesThat = (wanted: (source: RuntimeConfig['sources'][number]) => boolean) =>
    sources.filter(wanted).map(({ id }) => id);
  return {
    init: passports?.init ?? 'manual',
    publish: passports?.publish ?? 'manual',
    sources: sources.map(({ id }) => id),
    partSources: sourcesThat(({ mappings }) => mappings.some(({ to }) => to !== 'product')),
    bomSources: sourcesThat(({ mappings }) => mappings.some(({ to }) => to === 'bom_item' || to === undefined)),
    withdrawMissingOf: sourcesThat(({ onMissing }) => onMissing === 'unpublish'),
  };
}
