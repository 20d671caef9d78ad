import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';
import { REC20_CODES, REC21_CODES } from './unit-codes.ts';
import { AMBIGUOUS_UNITS, UNIT_ALIASES } from './units.ts';

const CODES: ReadonlySet<string> = new Set([...words(REC20_CODES), ...words(REC21_CODES)]);

const UNITS: ReadonlyMap<string, string> = new Map([
  ...[...CODES].map((code) => [code, code] as const),
  ...Object.entries(UNIT_ALIASES).flatMap(([code, aliases]) =>
    aliases.split(',').map((alias) => [normalize(alias), code] as const),
  ),
]);

/** The names of units that only one source uses, in the form that `normalize` gives, with their codes. */
export type UnitTable = ReadonlyMap<string, string>;

/** Makes the unit table of a source from the names that its config has. */
export function unitTable(units: Readonly<Record<string, string>>): UnitTable {
  return new Map(Object.entries(units).map(([name, code]) => [normalize(name), code.toUpperCase()]));
}

/** True for a code of UNECE Recommendation 20 or 21. */
export function isUnitCode(code: string): boolean {
  return CODES.has(code.toUpperCase());
}

/**
 * The UNECE Recommendation 20 code of a unit. The unit may be a name in the table of the source, a code of SAP or
 * Akeneo, a word in English, German or French, or the code itself. If a code of an ERP is also a code of Recommendation
 * 20, the ERP's meaning is used: `ST` is a piece (`C62`), not a sheet.
 *
 * @returns null for an empty value
 * @throws MappingError with code `unit.unknown` or `unit.ambiguous`
 */
export function unit(value: unknown, table?: UnitTable): string | null {
  const text = argumentText('unit', value);
  if (text === null) return null;
  const name = normalize(text);
  const own = table?.get(name);
  if (own !== undefined) return own;
  const meanings = Object.hasOwn(AMBIGUOUS_UNITS, name) ? AMBIGUOUS_UNITS[name] : undefined;
  if (meanings !== undefined) {
    throw new MappingError(
      'unit.ambiguous',
      `The unit "${shown(text)}" can mean ${meanings}.`,
      `Name the right unit in the source's table of units, for example units: { ${JSON.stringify(shown(text))}: ${/\((\w+)\)/.exec(meanings)?.[1]} }.`,
    );
  }
  const code = UNITS.get(name);
  if (code !== undefined) return code;
  throw new MappingError(
    'unit.unknown',
    `The unit "${shown(text)}" is not known.`,
    `Add it to the source's table of units, for example units: { ${JSON.stringify(shown(text))}: C62 }, or write a UNECE Rec 20 code in the source.`,
  );
}

/** Upper case, without accents, dots and superfluous blanks; `m²` becomes `M2`. */
function normalize(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}.^]/gu, '')
    .toUpperCase()
    .replace(/[\s_-]+/g, ' ')
    .trim();
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
