import type { MappingTools } from '../../domain/mapping-module.ts';
import { country } from './functions/country.ts';
import { date } from './functions/date.ts';
import { decimal } from './functions/decimal.ts';
import { gtin } from './functions/gtin.ts';
import { type LookupTables, lookup } from './functions/lookup.ts';
import { unit } from './functions/unit.ts';

/**
 * The functions of expressions, for mapping modules. They return "" where an expression would get null, so the field is
 * left out in both cases. The optional arguments are the same.
 */
export function createMappingTools(tables: LookupTables) {
  return {
    country: (value: unknown) => country(value) ?? '',
    unit: (value: unknown) => unit(value) ?? '',
    decimal: (value: unknown, mark?: ',' | '.') => decimal(value, mark) ?? '',
    gtin: (value: unknown) => gtin(value) ?? '',
    date: (value: unknown, format?: string) => date(value, format) ?? '',
    lookup: (file: string, key: unknown, ...fallback: string[]) => {
      const found = lookup(tables, file, key, ...fallback);
      return typeof found === 'string' ? found : '';
    },
  } satisfies MappingTools;
}
