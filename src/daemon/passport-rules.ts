import type { LedgerConfig, LedgerSource } from '../config/loaded-config.ts';
import type { MappedFields, PassportRules } from '../domain/passport.ts';

/**
 * The rules of a config for passports. A module may make any items, so a source with a module counts as a source of BOM
 * items.
 */
export function passportRulesOf({ passports, sources }: Pick<LedgerConfig, 'passports' | 'sources'>): PassportRules {
  const sourcesThat = (wanted: (source: LedgerSource) => boolean) => sources.filter(wanted).map(({ id }) => id);
  return {
    isConfigured: (passports ?? null) !== null,
    init: passports?.init ?? 'manual',
    publish: passports?.publish ?? 'manual',
    sources: sources.map(({ id }) => id),
    partSources: sourcesThat(({ mappings }) => mappings.some(({ to }) => to !== 'product')),
    bomSources: sourcesThat(({ mappings }) => mappings.some(({ to }) => to === 'bom_item' || to === undefined)),
    withdrawMissingOf: sourcesThat(({ onMissing }) => onMissing === 'unpublish'),
    mappedFields: sources.flatMap(mappedFieldsOf),
  };
}

function mappedFieldsOf({ id, mappings }: LedgerSource): MappedFields[] {
  return [...Map.groupBy(mappings, ({ stream }) => stream)].flatMap(([stream, all]) => {
    const ofProducts = all.filter(({ to }) => to === 'product');
    const [first] = ofProducts;
    if (first === undefined || all.some(({ module }) => module !== undefined)) return [];
    const fields = ofProducts.flatMap((mapping) => Object.keys(mapping.fields ?? {}));
    return [{ source: id, stream, path: first.path, fields }];
  });
}
