import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import type { WordReader } from './import-words.ts';

/** At most this many fields of a result belong to its form. */
const FIELDS_MAX = 40;
const NAME_LENGTH_MAX = 60;

/**
 * The form of a result that an import states for one of its members: the names and types of its fields, and its words
 * about the result. Values do not belong to it. A list has to confirm each feature once: a platform that answers in
 * another form than before may work in another way too.
 */
export function featuresOf(entry: JsonValue, { words, clean }: { words: WordReader; clean: CleanText }): string[] {
  if (!isJsonObject(entry)) return [typeOf(entry)];
  const fields = Object.entries(entry)
    // A field without a value may have any type.
    .filter(([, value]) => value !== null && value !== undefined)
    .slice(0, FIELDS_MAX)
    .map(([name, value]) => `${clean(name, NAME_LENGTH_MAX)}: ${typeOf(value as JsonValue)}`);
  const stated = words.words(entry).map(([name, word]) => `${name} = ${clean(word, NAME_LENGTH_MAX)}`);
  return [...fields, ...stated];
}

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

function typeOf(value: JsonValue): string {
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'string' && UUID.test(value)) return 'uuid';
  return value === null ? 'null' : typeof value;
}
