import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  sourceFault,
  xmlListOf,
  xmlObjectOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';
import type { Options } from './schema.ts';

/** The values of a catalogue's header that are needed to read its products. */
export interface Header {
  /** The language that is used if a text exists in several; undefined if the header names none. */
  language: string | undefined;
}

/** @throws a `sourceFault` if the file is not the catalogue that the config names */
export function headerOf(fields: JsonObject, file: string, options: Options): Header {
  const catalog = xmlObjectOf(fields['CATALOG']);
  const id = xmlTextOf(catalog['CATALOG_ID']);
  if (options.catalog !== undefined && id !== options.catalog) {
    throw sourceFault(`${file} is the catalogue ${id === '' ? 'without an id' : id}, not ${options.catalog}.`, {
      suggestion: 'Check whether this is the right file. If the supplier has renamed the catalogue, change `catalog`.',
    });
  }
  const languages = xmlListOf(catalog['LANGUAGE']);
  const preset = languages.find((language) => xmlTextOf(xmlObjectOf(language)['@default']).toLowerCase() === 'true');
  return { language: xmlTextOf(preset ?? languages[0]) || undefined };
}

/** If a text exists in several languages, puts the text of the given language first. */
export function inLanguage(fields: JsonObject, language: string | undefined): JsonObject {
  if (language === undefined) return fields;
  const wanted = language.toLowerCase();
  const chosen = Object.entries(fields).map(([name, value]): [string, JsonValue] => {
    const all = fields[`${name}@lang`];
    const spoken = isJsonObject(all) ? Object.entries(all).find(([code]) => code.toLowerCase() === wanted) : undefined;
    return [name, spoken?.[1] ?? inner(value, language)];
  });
  return Object.fromEntries(chosen);
}

function inner(value: JsonValue, language: string): JsonValue {
  if (Array.isArray(value)) return value.map((one) => inner(one, language));
  return isJsonObject(value) ? inLanguage(value, language) : value;
}
