import { COUNTRIES } from './countries.ts';
import { COUNTRY_ALIASES } from './country-aliases.ts';
import { normalizeCountry } from './normalize-country.ts';

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
export function countriesNamed(name: string): string[] {
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
