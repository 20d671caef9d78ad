import type { PassportRules } from '../domain/passport.ts';
import type { RuntimeConfig } from './open-source.ts';

/** What a config says of passports. A module may make anything, so its source counts as one of BOM items. */
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
