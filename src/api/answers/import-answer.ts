// Reads the result of each member from the answer to a bulk import. The API document shows no such answer, so every
// usual form is read: a list of results, lists by result, DRF's list of errors, errors by position or key, and plain
// counts. A member that the answer does not clearly name is `unknown`, never a guess. The list of products decides
// about it.

import type { MemberOutcome } from '../../domain/delivery/outcome.ts';
import { remoteIdText } from '../../domain/item.ts';
import { foldedKey } from '../../domain/natural-key.ts';
import { sentence } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { type CleanText, fieldsIn, valueAt } from './answer-text.ts';
import { alreadyExists, readProblems } from './decode.ts';
import { type IdPlaces, naturalKeyIn, remoteIdIn } from './entry.ts';
import { countedOutcome, featuresOf, GROUPS, type Result, type Said, type WordReader } from './import-words.ts';

/** What the reader of an answer needs to know about its import. */
export interface ImportExpectation extends IdPlaces {
  /** The natural keys of the members, in the order in which they were sent; null for a member without one. */
  keys: readonly (string | null)[];
  /** The name of the natural key in the request. */
  keyNames: readonly string[];
  /** For new products: the names of the unique fields in the request. Empty for changed products. */
  uniqueFields: readonly string[];
  /** The dotted path of the fields in an item; null or absent if the item has them itself. */
  entryAt?: string | null;
  /** Fields of the answer that may hold the list of results. */
  resultsAt: readonly string[];
  /** The words of results. */
  words: WordReader;
  /** The products as they were sent, in their order. Called only for an answer that has results. */
  sent: () => readonly JsonObject[];
  /** The name of a product's name in the request. */
  nameField: string;
}

/** What an answer says about the members of an import. */
interface ReadImport {
  members: MemberOutcome[];
  /** The form of the results of the members that were stored; see `answer-form.ts`. */
  form: string[];
}

/** One statement of the answer about one member. */
interface Statement {
  /** The position of the member in the import; null if the answer does not show it. */
  place: number | null;
  outcome: MemberOutcome;
  /** The form of the result. */
  form: string[];
}

/** Fields in which an answer may nest its content. */
const WRAPPERS = ['data', 'result', 'summary', 'detail', 'import'];

/** Fields in which a result may repeat its product. */
const ECHOES = ['product', 'data', 'item', 'input', 'record'];

/**
 * Reads the answer to an import.
 *
 * @param decision whether the import as a whole was accepted or refused. Members that a refusal does not name were not stored.
 * @returns null if a refusal names no member
 */
export function decodeImport(
  value: JsonValue,
  decision: 'accepted' | 'refused',
  expectation: ImportExpectation,
  clean: CleanText,
): ReadImport | null {
  const count = expectation.keys.length;
  const statements = statementsIn(value, { decision, expectation, clean });
  const members = Array.from({ length: count }, (): MemberOutcome => ({ kind: 'unknown' }));
  const named = new Set<number>();
  const form = new Set<string>();
  for (const statement of statements) {
    const { place, outcome } = statement;
    if (place === null) continue;
    members[place] = named.has(place) && !agrees(members[place], outcome) ? { kind: 'unknown' } : outcome;
    named.add(place);
    if (outcome.kind === 'accepted') for (const feature of statement.form) form.add(feature);
  }
  if (decision === 'refused') {
    const refused = refusedMembers(members);
    return refused && { members: refused, form: [] };
  }
  const counted = named.size === 0 ? holders(value).map((holder) => countedOutcome(holder, count)) : [];
  const outcome = counted.find((one) => one !== null);
  if (outcome === undefined) return { members: withOwnIds(members), form: [...form].toSorted() };
  return { members: members.map(() => outcome), form: [`counted as ${outcome.effect ?? 'stored'}`] };
}

/** Whether two statements about one member say the same. */
function agrees(before: MemberOutcome | undefined, outcome: MemberOutcome): boolean {
  if (before?.kind !== 'accepted' || outcome.kind !== 'accepted') return before?.kind === outcome.kind;
  return before.remoteId === outcome.remoteId && before.effect === outcome.effect;
}

/** Removes ids that the answer gives to several members. */
function withOwnIds(members: MemberOutcome[]): MemberOutcome[] {
  const counts = new Map<string, number>();
  for (const member of members) {
    if (member.kind !== 'accepted' || member.remoteId === null) continue;
    const id = remoteIdText(member.remoteId);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return members.map((member) => {
    if (member.kind !== 'accepted' || member.remoteId === null) return member;
    return (counts.get(remoteIdText(member.remoteId)) ?? 0) > 1 ? withoutId(member) : member;
  });
}

function refusedMembers(members: MemberOutcome[]): MemberOutcome[] | null {
  if (!members.some(({ kind }) => kind === 'refused')) return null;
  // If some members were stored although the import was refused, the others are unknown.
  if (members.some(({ kind }) => kind === 'accepted')) return members;
  return members.map((member) => (member.kind === 'unknown' ? { kind: 'untouched' } : member));
}

interface Reading {
  decision: 'accepted' | 'refused';
  expectation: ImportExpectation;
  clean: CleanText;
}

function statementsIn(value: JsonValue, reading: Reading): Statement[] {
  if (Array.isArray(value)) return fromResults(value, reading);
  return holders(value).flatMap((holder) => [
    ...reading.expectation.resultsAt.flatMap((name) => fromMember(memberOf(holder, name), null, reading)),
    ...GROUPS.flatMap(({ name, said }) => fromMember(memberOf(holder, name), said, reading)),
  ]);
}

/** The answer itself and the objects in which it may nest its content. */
function holders(value: JsonValue): JsonObject[] {
  if (!isJsonObject(value)) return [];
  return [value, ...WRAPPERS.map((name) => memberOf(value, name)).filter(isJsonObject)];
}

/** @param said the result that the name of the field states for all its entries, or null */
function fromMember(member: JsonValue | undefined, said: Result | null, reading: Reading): Statement[] {
  if (Array.isArray(member)) return said === null ? fromResults(member, reading) : fromGroup(member, said, reading);
  if (member === undefined || !isJsonObject(member) || (said !== null && said !== 'refused')) return [];
  return fromMap(member, said, reading);
}

/** A list of results, one for each member, or for some of them. */
function fromResults(entries: JsonValue[], reading: Reading): Statement[] {
  const { expectation, decision } = reading;
  const inOrder = entries.length === expectation.keys.length;
  const places = placesOf(entries, expectation);
  return entries.map((entry, index): Statement => {
    const place = places[index] ?? null;
    // In a list of errors the field of the natural key may hold a problem in place of the key: `{"sku": "This field is required."}`.
    const named = place !== null || (decision === 'accepted' && isNamed(entry, expectation));
    const at = named ? place : inOrder ? index : null;
    const { outcome, form } = read(
      entry,
      decision === 'refused' ? problemsSaid(entry, expectation) : null,
      at,
      reading,
    );
    if (named) return { place, outcome, form };
    return { place: at, outcome: entries.length === 1 ? outcome : withoutId(outcome), form: [...form, 'in order'] };
  });
}

/**
 * Removes the id. The results are usually in the order of the members, but this is not certain enough to bind an id.
 */
function withoutId(outcome: MemberOutcome): MemberOutcome {
  return outcome.kind === 'accepted' ? { ...outcome, remoteId: null } : outcome;
}

/** In a refusal, a list of errors has an empty object for each correct member. A text is about the whole import. */
function problemsSaid(entry: JsonValue, { words }: ImportExpectation): Said {
  if (!isJsonObject(entry) || Object.keys(entry).length === 0) return 'unclear';
  const { said } = words.said(entry, undefined);
  return said === 'unclear' ? 'refused' : said;
}

/** A list whose name states the result of its entries. The entries are objects or natural keys. */
function fromGroup(entries: JsonValue[], said: Result, reading: Reading): Statement[] {
  const places = placesOf(entries, reading.expectation);
  return entries.map((entry, index) => {
    const place = places[index] ?? null;
    const { outcome, form } = read(entry, said, place, reading);
    return { place, outcome, form: [...form, `in ${said}`] };
  });
}

/** Errors by the position or the natural key of the member: `{"1": {"name": […]}, "SKU-7": "…"}`. */
function fromMap(map: JsonObject, said: Result | null, reading: Reading): Statement[] {
  const { expectation, decision } = reading;
  const names = Object.entries(map);
  return names.map(([name, entry]): Statement => {
    const byKey = expectation.keys.indexOf(name);
    // Digits may be a position or the SKU of a product. Digits that are no SKU of this import are a position, counted from 0.
    const byPlace = /^\d{1,6}$/.test(name) && Number(name) < expectation.keys.length ? Number(name) : null;
    const place = byKey >= 0 ? byKey : byPlace;
    const { outcome, form } = read(entry, said ?? (decision === 'refused' ? 'refused' : null), place, reading);
    return { place, outcome, form: [...form, 'by name'] };
  });
}

const PLACE_NAMES = ['index', 'position', 'row', 'line', 'row_number', 'line_number'];

/** The positions of entries: by natural key, or by their number if it is clear whether the numbers begin at 0 or 1. */
function placesOf(entries: readonly JsonValue[], expectation: ImportExpectation): (number | null)[] {
  const { keys } = expectation;
  const numbers = entries.map((entry) => (isJsonObject(entry) ? numberIn(entry) : null));
  const base = baseOf(numbers, keys.length);
  return entries.map((entry, index) => {
    const key = keyIn(entry, expectation);
    const byKey = key === null ? -1 : keys.indexOf(key);
    if (byKey >= 0) return byKey;
    // A key that was not sent belongs to no member, even if a number is beside it.
    const number = numbers[index] ?? null;
    if (key !== null || number === null) return null;
    const first = base ?? (number.name === 'index' || number.name === 'position' ? 0 : null);
    if (first === null) return null;
    const place = number.at - first;
    return place >= 0 && place < keys.length ? place : null;
  });
}

interface PlaceNumber {
  name: string;
  at: number;
}

/** The number at which the numbers begin; null if none of them shows it. */
function baseOf(numbers: readonly (PlaceNumber | null)[], count: number): 0 | 1 | null {
  if (numbers.some((number) => number?.at === 0)) return 0;
  return numbers.some((number) => number?.at === count) ? 1 : null;
}

function numberIn(entry: JsonObject): PlaceNumber | null {
  for (const name of PLACE_NAMES) {
    const at = memberOf(entry, name);
    if (typeof at === 'number' && Number.isSafeInteger(at) && at >= 0) return { name, at };
  }
  return null;
}

function keyIn(entry: JsonValue, { keyNames, keys, entryAt = null }: ImportExpectation): string | null {
  if (typeof entry === 'string') return entry;
  if (!isJsonObject(entry)) return null;
  const direct = naturalKeyIn(fieldsIn(entry, entryAt), keyNames);
  // In an error, the name of the member's natural key may hold problems: `{"sku": "This field is required."}`.
  if (direct !== null && keys.includes(direct)) return direct;
  for (const echo of ECHOES) {
    const inner = valueAt(entry, echo);
    const key = inner === undefined ? null : naturalKeyIn(fieldsIn(inner, entryAt), keyNames);
    if (key !== null) return key;
  }
  return direct;
}

function isNamed(entry: JsonValue, expectation: ImportExpectation): boolean {
  return keyIn(entry, expectation) !== null || (isJsonObject(entry) && numberIn(entry) !== null);
}

const PROBLEM_NAMES = ['errors', 'error', 'problems', 'detail', 'message', 'messages', 'reason'];

const WORD_LENGTH_MAX = 60;

/**
 * Reads one entry.
 *
 * @param given the result that the place of the entry states; null if the entry has to state it
 * @param place the position of its member; null if it is unknown
 */
function read(entry: JsonValue, given: Said | null, place: number | null, reading: Reading) {
  const { expectation, clean } = reading;
  const { words } = expectation;
  const sent = place === null ? undefined : expectation.sent()[place];
  const stated = words.said(entry, sent);
  const said = given ?? stated.said;
  const word = given === null ? stated.word : undefined;
  const outcome = outcomeOf(entry, { said, word, name: otherName(entry, sent, expectation) }, reading);
  return { outcome, form: outcome.kind === 'accepted' ? featuresOf(entry, { words, clean }) : [] };
}

/** The name in an entry if it is not the name that was sent; else undefined. */
function otherName(entry: JsonValue, sent: JsonObject | undefined, { nameField, entryAt = null }: ImportExpectation) {
  const name = sent === undefined ? undefined : memberOf(sent, nameField);
  if (typeof name !== 'string' || !isJsonObject(entry)) return undefined;
  const places = [entry, ...ECHOES.flatMap((echo) => valueAt(entry, echo) ?? [])];
  const holders = places.map((place) => fieldsIn(place, entryAt)).filter(isJsonObject);
  const shown = holders.map((holder) => memberOf(holder, nameField)).filter((one) => typeof one === 'string');
  return shown.find((one) => foldedKey(one) !== foldedKey(name));
}

function outcomeOf(
  entry: JsonValue,
  { said, word, name }: { said: Said; word: string | undefined; name: string | undefined },
  { decision, expectation, clean }: Reading,
): MemberOutcome {
  const isNew = expectation.uniqueFields.length > 0;
  if (said === 'unclear' || (said === 'exists' && !isNew)) {
    const shown = word ?? (said === 'exists' ? 'exists' : undefined);
    if (shown === undefined) return { kind: 'unknown' };
    return { kind: 'unknown', why: `It says ${JSON.stringify(clean(shown, WORD_LENGTH_MAX))} about the product.` };
  }
  if (said !== 'refused' && said !== 'exists') {
    if (name !== undefined) {
      return { kind: 'unknown', why: `It gives the product the name ${JSON.stringify(clean(name, WORD_LENGTH_MAX))}.` };
    }
    return { kind: 'accepted', effect: said === 'stored' ? null : said, remoteId: idOf(entry, expectation, clean) };
  }
  const problems = readProblems(problemsOf(entry, expectation), clean);
  // Only an entry that has the natural key as well has the id of the product, and not that of the row.
  const isNamed = isNew && decision === 'accepted' && keyIn(entry, expectation) !== null;
  return {
    kind: 'refused',
    ...(isNamed && idOf(entry, expectation, clean) !== null && { namesItem: true }),
    ...(isNew && (said === 'exists' || alreadyExists(problems, expectation.uniqueFields)) && { exists: true }),
    detail: {
      status: null,
      message: problems.message === '' ? NO_REASON[said] : sentence(problems.message),
      ...(Object.keys(problems.fields).length > 0 && { fields: problems.fields }),
    },
  };
}

/** The id in an entry, or in the product that it repeats. */
function idOf(entry: JsonValue, expectation: ImportExpectation, clean: CleanText): string | number | null {
  if (!isJsonObject(entry)) return null;
  const places = [entry, ...ECHOES.flatMap((name) => valueAt(entry, name) ?? [])];
  return places.map((place) => remoteIdIn(place, expectation, clean)).find((id) => id !== null) ?? null;
}

const NO_REASON = {
  refused: 'The import refused the product and gave no reason.',
  exists: 'The answer to the import says that the product exists.',
};

/**
 * The fields of an entry that describe problems: the fields that are meant for problems, or all except the identifying
 * ones.
 */
function problemsOf(entry: JsonValue, { keyNames, keys }: ImportExpectation): JsonValue {
  if (typeof entry === 'string') return keys.includes(entry) ? null : entry;
  if (!isJsonObject(entry)) return entry;
  const named = Object.entries(entry).filter(([name, value]) => PROBLEM_NAMES.includes(name) && value !== null);
  if (named.length > 0) return Object.fromEntries(named);
  const others = Object.entries(entry).filter(
    ([name]) => !PLACE_NAMES.includes(name) && !(keyNames.includes(name) && keys.includes(naturalKeyIn(entry, [name]))),
  );
  return Object.fromEntries(others);
}
