import { isJsonObject, type JsonValue } from '../../lib/json.ts';

/** The result of a member in an answer; `stored` if the answer does not distinguish creation from update. */
export type Said = 'created' | 'updated' | 'stored' | 'refused' | 'unclear';

/** Fields of an answer that list the members of the import by result. */
export const GROUPS: readonly { name: string; said: Said }[] = [
  { name: 'created', said: 'created' },
  { name: 'inserted', said: 'created' },
  { name: 'updated', said: 'updated' },
  { name: 'unchanged', said: 'updated' },
  { name: 'imported', said: 'stored' },
  { name: 'succeeded', said: 'stored' },
  { name: 'successful', said: 'stored' },
  { name: 'failed', said: 'refused' },
  { name: 'failures', said: 'refused' },
  { name: 'errors', said: 'refused' },
  { name: 'rejected', said: 'refused' },
  { name: 'invalid', said: 'refused' },
  { name: 'skipped', said: 'refused' },
];

const WORDS: readonly (readonly [Said, RegExp])[] = [
  ['created', /^(?:created?|inserted?|added|new)$/],
  // An unchanged product already had the content that was sent.
  ['updated', /^(?:updated?|modified|changed|replaced|unchanged|no_?change|not_modified|no-?op)$/],
  ['stored', /^(?:ok|success|succeeded|successful|imported|upserted|saved|done|completed?)$/],
  ['refused', /^(?:failed|failure|error|errored|invalid|rejected|refused|skipped|ignored|conflict)$/],
  ['unclear', /^(?:queued|pending|processing|accepted|in_?progress|scheduled)$/],
];

/** Fields that state the result in a word. A word about the result takes precedence over the product's own status. */
const WORD_NAMES = ['result', 'outcome', 'action', 'operation', 'import_status', 'status', 'state'] as const;
const FLAGS = ['success', 'ok', 'valid', 'imported'] as const;
const PROBLEMS = ['errors', 'error', 'problems', 'reason'] as const;
const IDS = ['id', 'uuid', 'pk', 'product_id'] as const;

/** The result that an entry states. Without a word, a product with an id was stored. */
export function saidOf(entry: JsonValue): Said {
  if (!isJsonObject(entry)) return 'unclear';
  const member = (name: string): JsonValue | undefined => (Object.hasOwn(entry, name) ? entry[name] : undefined);
  if (PROBLEMS.some((name) => isProblem(member(name)))) return 'refused';
  for (const name of WORD_NAMES) {
    const said = wordOf(member(name));
    if (said !== null) return said;
  }
  for (const name of FLAGS) {
    if (member(name) === false) return 'refused';
    if (member(name) === true) return 'stored';
  }
  if (typeof member('created') === 'boolean') return member('created') === true ? 'created' : 'updated';
  if (member('updated') === true) return 'updated';
  return IDS.some((name) => ['string', 'number'].includes(typeof member(name))) ? 'stored' : 'unclear';
}

/** Reads a word, or an HTTP status. */
function wordOf(value: JsonValue | undefined): Said | null {
  if (typeof value === 'number') {
    if (value === 201) return 'created';
    if (value === 202) return 'unclear';
    if (value >= 200 && value < 300) return 'stored';
    return value >= 400 && value < 500 ? 'refused' : 'unclear';
  }
  if (typeof value !== 'string') return null;
  const word = value.trim().toLowerCase();
  return WORDS.find(([, pattern]) => pattern.test(word))?.[0] ?? null;
}

/** Empty lists and objects mean that there is no problem. */
function isProblem(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === '' || value === 0) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
