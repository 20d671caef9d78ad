import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';
import { COUNTRIES } from './countries.ts';

/** Every accepted spelling with its alpha-2 code; spellings as `normalize` writes them. */
const CODES: ReadonlyMap<string, string> = new Map(
  COUNTRIES.trim()
    .split('\n')
    .flatMap((line) => {
      const [alpha2 = '', alpha3 = '', numeric = ''] = line.trim().split(' ', 3);
      const names = line.trim().slice(`${alpha2} ${alpha3} ${numeric} `.length).split('|');
      return [alpha2, alpha3, numeric, ...names].map((name) => [normalize(name), alpha2] as const);
    }),
);

/**
 * A country as upper-case ISO 3166-1 alpha-2 code: from alpha-2, alpha-3, the numeric code (three digits as text, or a
 * number), the English name, or an ISO 3166-2 subdivision such as `DE-BY`. Case does not matter.
 *
 * @returns null for an empty value
 * @throws MappingError with code `country.unknown`; a name that could be two countries is unknown, too
 */
export function country(value: unknown): string | null {
  const text = argumentText('country', value);
  if (text === null) return null;
  const code = CODES.get(typeof value === 'string' ? normalize(text) : text.padStart(3, '0')) ?? ofSubdivision(text);
  if (code !== undefined) return code;
  throw new MappingError(
    'country.unknown',
    `"${shown(text)}" is not a country code or an English country name of ISO 3166-1.`,
    'Correct it in the source, or translate it in the mapping with lookup().',
  );
}

function ofSubdivision(text: string): string | undefined {
  const match = /^([A-Z]{2})-[A-Z0-9]{1,3}$/i.exec(text);
  return match?.[1] === undefined ? undefined : CODES.get(match[1].toUpperCase());
}

/** Upper case, without accents, punctuation and a leading "the"; "&" is "and", "St." is "Saint". */
function normalize(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\p{M}.'’]/gu, '')
    .toUpperCase()
    .replace(/&/g, ' AND ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bST (?=\p{L})/gu, 'SAINT ')
    .replace(/^THE (?=.)/, '')
    .replace(/ THE$/, '');
}
