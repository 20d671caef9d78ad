import type { MappingTools } from '../../domain/mapping-module.ts';
import type { JsonValue } from '../../lib/json.ts';
import { country } from './functions/country.ts';
import { date } from './functions/date.ts';
import { decimal } from './functions/decimal.ts';
import { gtin } from './functions/gtin.ts';
import { lookup, lookupAll } from './functions/lookup.ts';
import { decodeEntities, htmlText } from './functions/plain-text.ts';
import { type UnitTable, unit } from './functions/unit.ts';
import type { LookupTables } from './lookups/lookups.ts';

/**
 * The functions of expressions, for mapping modules. They return "" if an expression would get null; the field is left
 * out in both cases. They have the same optional arguments.
 */
export function createMappingTools({ tables, units }: { tables: LookupTables; units: UnitTable }) {
  return {
    country: (value: unknown) => country(value) ?? '',
    unit: (value: unknown) => unit(value, units) ?? '',
    decimal: (value: unknown, mark?: ',' | '.') => decimal(value, mark) ?? '',
    gtin: (value: unknown) => gtin(value) ?? '',
    date: (value: unknown, format?: string) => date(value, format) ?? '',
    htmlText: (value: unknown) => htmlText(value) ?? '',
    decodeEntities: (value: unknown) => decodeEntities(value) ?? '',
    lookup: (table: string, key: unknown, ...fallback: string[]) => {
      const found = lookup(tables, table, key, ...fallback);
      return typeof found === 'string' ? found : '';
    },
    lookupAll: (table: string, key: unknown) => copyOfValues(lookupAll(tables, table, key)),
  } satisfies MappingTools;
}

/** The tables are shared by all rows, so a module gets copies. */
function copyOfValues(values: readonly JsonValue[]): JsonValue[] {
  return structuredClone([...values]);
}
