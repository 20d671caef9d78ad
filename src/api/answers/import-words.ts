import type { MemberOutcome } from '../../domain/delivery/outcome.ts';
import type { ImportWords } from '../../domain/import-settings.ts';
import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import type { CleanText } from './answer-text.ts';

/** The results that a word can state. Each has a list of words in the profile. */
export type Result = keyof ImportWords;

/**
 * The result of a member in an answer. `stored`: the answer does not distinguish creation from update. `exists`: the
 * product was there before, and nothing was stored. `unclear`: the answer states no result, or a word that no list has.
 */
export type Said = Result | 'unclear';

/** Fields of an answer that list the members of the import by result. */
export const GROUPS: readonly { name: string; said: Result }[] = [
  { name: 'created', said: 'created' },
  { name: 'inserted', said: 'created' },
  { name: 'updated', said: 'updated' },
  { name: 'unchanged', said: 'updated' },
  { name: 'imported', said: 'stored' },
  { name: 'succeeded', said: 'stored' },
  { name: 'successful', said: 'stored' },
  { name: 'existing', said: 'exists' },
  { name: 'duplicates', said: 'exists' },
  { name: 'failed', said: 'refused' },
  { name: 'failures', said: 'refused' },
  { name: 'errors', said: 'refused' },
  { name: 'rejected', said: 'refused' },
  { name: 'invalid', said: 'refused' },
  { name: 'skipped', said: 'refused' },
];

/** Fields that state the result in a word. */
const RESULT_NAMES = ['result', 'outcome', 'action', 'operation', 'import_status'] as const;
/** Fields that state the result, or the status of the product itself. */
const STATUS_NAMES = ['status', 'state'] as const;
const FLAGS = ['success', 'ok', 'valid', 'imported'] as const;
const PROBLEMS = ['errors', 'error', 'problems', 'reason'] as const;
const IDS = ['id', 'uuid', 'pk', 'product_id'] as const;

/** What an entry states, and the word that no list has. */
interface Statement {
  said: Said;
  word?: string;
}

/** Reads the results that entries state. */
export function createWordReader(given: ImportWords) {
  const meanings = new Map<string, Result>();
  for (const [said, words] of Object.entries(given) as [Result, readonly string[]][]) {
    for (const word of words) meanings.set(plain(word), said);
  }

  /** What a word or an HTTP status means; null for a value of another type. */
  function meaningOf(value: JsonValue | undefined): Statement | null {
    if (typeof value === 'number') return { said: statusMeaning(value) };
    if (typeof value !== 'string' || value.trim() === '') return null;
    const said = meanings.get(plain(value));
    return said === undefined ? { said: 'unclear', word: value } : { said };
  }

  /** @param sent the product as it was sent: an entry that repeats its status states nothing by that */
  function said(entry: JsonValue, sent: JsonObject | undefined): Statement {
    if (!isJsonObject(entry)) return { said: 'unclear' };
    if (PROBLEMS.some((name) => isProblem(memberOf(entry, name)))) return { said: 'refused' };
    const results = RESULT_NAMES.flatMap((name) => meaningOf(memberOf(entry, name)) ?? []);
    const isKnown = results.some((one) => one.said !== 'unclear');
    const statuses = STATUS_NAMES.flatMap((name) => {
      const value = memberOf(entry, name);
      const isEcho = typeof value === 'string' && sent !== undefined && isSame(memberOf(sent, name), value);
      const meaning = isEcho ? null : meaningOf(value);
      // Beside a word about the result, a status that no list has is that of the product.
      return meaning === null || (isKnown && meaning.said === 'unclear') ? [] : meaning;
    });
    const stated = [...results, ...statuses, ...flagsOf(entry)];
    const [first] = stated;
    if (first !== undefined)
      return agreed(stated) ?? stated.find((one) => one.said === 'unclear') ?? { said: 'unclear' };
    const hasId = IDS.some((name) => ['string', 'number'].includes(typeof memberOf(entry, name)));
    return { said: hasId ? 'stored' : 'unclear' };
  }

  return {
    said,
    /** The texts of an entry that state a result, by field. They belong to the form of an answer. */
    words: (entry: JsonObject): [name: string, word: string][] =>
      [...RESULT_NAMES, ...STATUS_NAMES].flatMap((name): [string, string][] => {
        const value = memberOf(entry, name);
        return typeof value === 'string' && meanings.has(plain(value)) ? [[name, plain(value)]] : [];
      }),
  };
}

export type WordReader = ReturnType<typeof createWordReader>;

/** The one result of several statements; null if they contradict each other. */
function agreed(statements: readonly Statement[]): Statement | null {
  const kinds = new Set(statements.map(({ said }) => said));
  // Whether the product was created or updated says more than that it was stored.
  if (kinds.size > 1) kinds.delete('stored');
  const [only] = kinds;
  const hasStored = statements.some(({ said }) => said === 'stored');
  if (kinds.size !== 1 || only === undefined || only === 'unclear') return null;
  return hasStored && (only === 'refused' || only === 'exists') ? null : { said: only };
}

function flagsOf(entry: JsonObject): Statement[] {
  const statements: Statement[] = [];
  for (const name of FLAGS) {
    const value = memberOf(entry, name);
    if (typeof value === 'boolean') statements.push({ said: value ? 'stored' : 'refused' });
  }
  const created = memberOf(entry, 'created');
  if (typeof created === 'boolean') statements.push({ said: created ? 'created' : 'updated' });
  else if (memberOf(entry, 'updated') === true) statements.push({ said: 'updated' });
  return statements;
}

function statusMeaning(status: number): Said {
  if (status === 201) return 'created';
  if (status === 202) return 'unclear';
  if (status >= 200 && status < 300) return 'stored';
  return status >= 400 && status < 500 ? 'refused' : 'unclear';
}

function isSame(sent: JsonValue | undefined, shown: string): boolean {
  return typeof sent === 'string' && plain(sent) === plain(shown);
}

/** Words are compared without capitals, and with one character between their parts: `Already exists`, `already_exists`. */
function plain(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '_');
}

/** Empty lists and objects mean that there is no problem. */
function isProblem(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === '' || value === 0) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

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

/**
 * Reads plain counts. If no member failed and as many were stored as were sent, all members were stored.
 *
 * @returns null if the counts do not decide
 */
export function countedOutcome(holder: JsonObject, memberCount: number): (MemberOutcome & { kind: 'accepted' }) | null {
  const sums = { created: 0, updated: 0, stored: 0, refused: 0, exists: 0 };
  let groups = 0;
  for (const { name, said } of GROUPS) {
    const value = Object.hasOwn(holder, name) ? holder[name] : undefined;
    const count = Array.isArray(value) && said === 'refused' ? value.length : value;
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) continue;
    sums[said] += count;
    groups += 1;
  }
  const { created, updated, stored, refused, exists } = sums;
  if (groups === 0 || refused > 0 || exists > 0) return null;
  // `imported` may be the sum of `created` and `updated`.
  const counted = created + updated;
  if (counted !== memberCount && !(counted === 0 && stored === memberCount)) return null;
  const effect = effectOf(created, updated, memberCount);
  return { kind: 'accepted', effect, remoteId: null };
}

function effectOf(created: number, updated: number, members: number): (MemberOutcome & { kind: 'accepted' })['effect'] {
  if (created === members) return 'created';
  if (updated === members) return 'updated';
  return created > 0 && updated > 0 ? 'mixed' : null;
}
