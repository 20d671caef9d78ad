import { MappingError } from '../mapping-error.ts';
import { argumentText, shown } from '../values.ts';
import { COUNTRIES } from './countries.ts';

/** Letters that Unicode cannot split into a base letter and an accent, with the letters that people write instead. */
const FOLDED: Record<string, string> = { Ł: 'L', Ø: 'O', Đ: 'D', Ħ: 'H', Æ: 'AE', Œ: 'OE' };

/**
 * Returns a name in upper case, without accents, punctuation and a leading "the". "&" becomes "and", and "St." becomes
 * "Saint".
 */
function normalizeCountry(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\p{M}.'’]/gu, '')
    .toUpperCase()
    .replace(/[ŁØĐĦÆŒ]/g, (letter) => FOLDED[letter] ?? letter)
    .replace(/&/g, ' AND ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bST (?=\p{L})/gu, 'SAINT ')
    .replace(/^THE (?=.)/, '')
    .replace(/ THE$/, '');
}

/**
 * Usual names of countries in languages of the EU that neither the Unicode CLDR nor the table of English names has, by the
 * alpha-2 code and separated by `|`. Names that could be two countries are left out on purpose.
 */
export const COUNTRY_ALIASES: Readonly<Record<string, string>> = {
  BY: 'Weißrussland|Weissrussland|Wit-Rusland|Vitryssland',
  CI: 'Elfenbeinküste|Costa de Marfil|Wybrzeże Kości Słoniowej',
  CN: 'VR China|Volksrepublik China|République populaire de Chine|Repubblica Popolare Cinese|República Popular China|Volksrepubliek China',
  CZ: 'Tschechische Republik|République tchèque|República Checa|Repubblica Ceca|Česká republika|Republika Czeska|Tsjechische Republiek|Den Tjekkiske Republik|Tjekkiske Republik|Tjeckiska republiken|Tšekin tasavalta|Tšehhi Vabariik|Čehijas Republika|Čekijos Respublika|Češka republika|Cseh Köztársaság|Republica Cehă|Τσεχική Δημοκρατία|Чешка република|Poblacht na Seice',
  DE: 'BRD|Bundesrepublik Deutschland|République fédérale d’Allemagne|Repubblica Federale di Germania|República Federal de Alemania|República Federal da Alemanha|Bondsrepubliek Duitsland',
  GB: 'Großbritannien|Grossbritannien|Grande-Bretagne|Angleterre|Gran Bretaña|Gran Bretagna|Grã-Bretanha|Groot-Brittannië|Velká Británie|Veľká Británia|Velika Britanija|Nagy-Britannia|Marea Britanie|Suurbritannia|Lielbritānija|Didžioji Britanija|Μεγάλη Βρετανία|Великобритания|An Bhreatain Mhór',
  HK: 'Hongkong|Hong-Kong',
  KR: 'Republik Korea|République de Corée|República de Corea|Repubblica di Corea|República da Coreia',
  MD: 'Moldawien|Moldau|Moldavie|Moldavia',
  MK: 'Mazedonien|Macédoine|Macedonië|Makedonien|Makedonie|Macedónsko|Makedonija|Македония',
  MM: 'Birma|Birmanie|Birmania|Birmânia',
  NL: 'Hollande|Holanda|Olanda|Hollanti|Ολλανδία|Холандия|Holande|Olandija',
  RU: 'Russische Föderation|Fédération de Russie|Federación de Rusia|Federazione Russa|Federação Russa|Russische Federatie|Federacja Rosyjska',
  SK: 'Slowakische Republik|République slovaque|República Eslovaca|Repubblica Slovacca|Slovenská republika|Republika Słowacka|Slowaakse Republiek',
  US: 'EUA|EE. UU.|EEUU|Vereinigte Staaten von Amerika|États-Unis d’Amérique|Estados Unidos de América|Estados Unidos da América|Stati Uniti d’America|Verenigde Staten van Amerika|Stany Zjednoczone Ameryki|Förenta staterna|Spojené státy americké|Spojené štáty americké|Amerikai Egyesült Államok|Statele Unite|Amerikan yhdysvallat|Jungtinės Amerikos Valstijos|Ηνωμένες Πολιτείες της Αμερικής|ΗΠΑ|САЩ|Съединени американски щати|Forenede Stater|De Forenede Stater',
};

/** The official languages of the European Union. */
const LANGUAGES = 'bg cs da de el en es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv'.split(' ');

/** Irish and Maltese put an article before many names. Lists often leave out this article. */
const ARTICLES: Record<string, RegExp> = { ga: /^AN /, mt: /^(?:IL|IR|IS|IT|IN|L|IX|IZ|IC) / };

/**
 * The aliases and the names of Node's ICU. Loading them takes about 50 ms, so they are loaded at the first name that is
 * not in `COUNTRIES`.
 */
let names: ReadonlyMap<string, ReadonlySet<string>> | null = null;

/**
 * The alpha-2 codes of the countries that have this name in a language of the EU, in the Unicode CLDR or as an alias.
 *
 * @param name in the form that `normalizeCountry` gives
 */
function countriesNamed(name: string): string[] {
  names ??= loadNames();
  return [...(names.get(name) ?? [])];
}

function loadNames(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const add = (name: string, code: string): void => {
    const codes = found.get(name);
    if (codes === undefined) found.set(name, new Set([code]));
    else codes.add(code);
  };
  const codes = COUNTRIES.trim()
    .split('\n')
    .map((line) => line.trim().slice(0, 2));
  for (const language of LANGUAGES) {
    const regions = new Intl.DisplayNames([language], { type: 'region' });
    for (const code of codes) {
      const name = normalizeCountry(regions.of(code) ?? code);
      const withoutArticle = name.replace(ARTICLES[language] ?? /^$/, '');
      add(name, code);
      add(withoutArticle, code);
    }
  }
  for (const [code, aliases] of Object.entries(COUNTRY_ALIASES)) {
    for (const alias of aliases.split('|')) add(normalizeCountry(alias), code);
  }
  return found;
}

/** The version of the names. They come with Node, and another version may have other names. */
export const COUNTRY_NAMES_VERSION: string = process.versions['cldr'] ?? '';

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
  );
}

function ofSubdivision(text: string): string | undefined {
  const match = /^([A-Z]{2})-[A-Z0-9]{1,3}$/i.exec(text);
  return match?.[1] === undefined ? undefined : CODES.get(match[1].toUpperCase());
}
