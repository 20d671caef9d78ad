import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';
import { AMBIGUOUS_UNITS, REC20_CODES, UNIT_ALIASES } from './units.ts';

const UNITS: ReadonlyMap<string, string> = new Map([
  ...words(REC20_CODES).map((code) => [code, code] as const),
  ...Object.entries(UNIT_ALIASES).flatMap(([code, aliases]) =>
    aliases.split(',').map((alias) => [normalize(alias), code] as const),
  ),
]);

/**
 * A unit as UNECE Recommendation 20 code: from SAP and Akeneo codes, from words in English, German and French, and from
 * the codes themselves. Where an ERP's code collides with one of Rec 20, the ERP's meaning wins: `ST` is a piece (`C62`),
 * not a sheet.
 *
 * @returns null for an empty value
 * @throws MappingError with code `unit.unknown` or `unit.ambiguous`
 */
export function unit(value: unknown): string | null {
  const text = argumentText('unit', value);
  if (text === null) return null;
  const name = normalize(text);
  const meanings = Object.hasOwn(AMBIGUOUS_UNITS, name) ? AMBIGUOUS_UNITS[name] : undefined;
  if (meanings !== undefined) {
    throw new MappingError(
      'unit.ambiguous',
      `The unit "${shown(text)}" can mean ${meanings}.`,
      `Say which, for example row.UNIT == "${shown(text)}" ? "${/\((\w+)\)/.exec(meanings)?.[1]}" : unit(row.UNIT).`,
    );
  }
  const code = UNITS.get(name);
  if (code !== undefined) return code;
  throw new MappingError(
    'unit.unknown',
    `The unit "${shown(text)}" is not known.`,
    'Translate it in the mapping with lookup(), or write a UNECE Rec 20 code in the source.',
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
