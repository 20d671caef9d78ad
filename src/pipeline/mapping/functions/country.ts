import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';
import { COUNTRIES } from './countries.ts';
import { countriesNamed } from './country-names.ts';
import { normalizeCountry } from './normalize-country.ts';

/** Every accepted spelling with its alpha-2 code; the spellings have the form that `normalizeCountry` gives. */
const CODES: ReadonlyMap<string, string> = new Map(
  COUNTRIES.trim()
    .split('\n')
    .flatMap((line) => {
      const [alpha2 = '', alpha3 = '', numeric = ''] = line.trim().split(' ', 3);
      const names = line.trim().slice(`${alpha2} ${alpha3} ${numeric} `.length).split('|');
      return [alpha2, alpha3, numeric, ...names].map((name) => [normalizeCountry(name), alpha2] as const);
    }),
);

/**
 * A country as upper-case ISO 3166-1 alpha-2 code: from alpha-2, alpha-3, the numeric code (three digits as text, or a
 * number), the name in any official language of the EU, or an ISO 3166-2 subdivision such as `DE-BY`. Case does not
 * matter. Codes and English names win over names in other languages.
 *
 * @returns null for an empty value
 * @throws MappingError with code `country.unknown`, or `country.ambiguous` for a name that two countries have
 */
export function country(value: unknown): string | null {
  const text = argumentText('country', value);
  if (text === null) return null;
  const name = typeof value === 'string' ? normalizeCountry(text) : text.padStart(3, '0');
  const code = CODES.get(name) ?? ofSubdivision(text);
  if (code !== undefined) return code;
  const named = countriesNamed(name);
  const [only, other] = named;
  if (only !== undefined && other === undefined) return only;
  if (only !== undefined) {
    throw new MappingError(
      'country.ambiguous',
      `"${shown(text)}" is the name of more than one country: ${named.join(', ')}.`,
      `Name the right country, for example row.X == ${JSON.stringify(shown(text))} ? "${only}" : country(row.X).`,
    );
  }
  throw new MappingError(
    'country.unknown',
    `"${shown(text)}" is not a country code of ISO 3166-1 or the name of a country in a language of the EU.`,
    'Correct it in the source, or translate it in the mapping with lookup().',
  );
}

function ofSubdivision(text: string): string | undefined {
  const match = /^([A-Z]{2})-[A-Z0-9]{1,3}$/i.exec(text);
  return match?.[1] === undefined ? undefined : CODES.get(match[1].toUpperCase());
}
