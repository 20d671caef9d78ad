import type { JsonObject, JsonValue } from '../lib/json.ts';
import { findUnseenCharacter, type OddCharacter } from '../lib/text/safe-text.ts';
import type { SubjectKind } from './item.ts';
import type { Profile } from './profile.ts';

/** The field by which the API identifies an item, and its value. */
export interface NaturalKey {
  field: string;
  value: string;
}

/**
 * The natural key of a payload: the first of the profile's fields that has a value. Null for BOM items, which the API
 * does not identify, and for passports, which it identifies by their products.
 */
export function naturalKeyOf(
  profile: Pick<Profile, 'naturalKeys'>,
  kind: SubjectKind,
  payload: JsonObject,
): NaturalKey | null {
  if (kind === 'bom_item' || kind === 'passport') return null;
  for (const field of profile.naturalKeys[kind]) {
    const value = payload[field];
    if (typeof value === 'string' && value !== '') return { field, value };
  }
  return null;
}

/**
 * Returns the same text for all values that a platform might treat as equal. Case, surrounding blanks and forms of
 * Unicode do not count.
 */
export function foldedKey(value: string): string {
  return value.normalize('NFKC').trim().toLowerCase();
}

/** The text of a listed value, if the value can be a natural key; null if it cannot. */
export function keyText(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A text that identifies a record or an item: a value of a key, a natural key, or a ref. */
interface IdentifyingText {
  /** The text without white space, byte order marks and the padding of CHAR columns around it. */
  text: string;
  /** The first character inside the text that people cannot see, such as a line end; null if there is none. */
  unseen: OddCharacter | null;
}

/**
 * The one rule for texts that identify. Exports and databases add white space, byte order marks and padding around such a
 * text, so these characters are no part of it. A control character or a byte order mark inside the text is an issue of
 * the row, because nobody can see how two such texts differ.
 *
 * It runs for the keys of every row of every export.
 */
export function identifyingText(given: string): IdentifyingText {
  const text = mayBePadded(given) ? given.trim() : given;
  return { text, unseen: findUnseenCharacter(text) };
}

/**
 * A column name in the form in which names are compared: without white space and byte order marks around it, and with composed
 * characters (NFC). Programs write the same name in several forms that people see as one.
 */
export function comparableName(name: string): string {
  return identifyingText(name).text.normalize('NFC');
}

/** `trim` also removes no-break spaces, line ends and byte order marks. Most texts begin and end with plain ASCII. */
function mayBePadded(text: string): boolean {
  return isPadding(text.charCodeAt(0)) || isPadding(text.charCodeAt(text.length - 1));
}

function isPadding(code: number): boolean {
  return code <= 0x20 || code >= 0x7f;
}
