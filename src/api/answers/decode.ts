import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { type CleanText, parseJson } from './answer-text.ts';

/** The content of an error body, ready to be shown. */
export interface ErrorBody {
  /** The API's message in one line; empty if it sent none. */
  message: string;
  /** Problems by field. */
  fields: Record<string, string>;
  /** Every single problem, from which the kind of refusal is recognised. `field` is null for the request as a whole. */
  problems: Problem[];
}

/** One problem in the API's own words, which are compared and not kept: they may contain a secret. */
interface Problem {
  field: string | null;
  /** The API's machine-readable code, such as DRF's `unique`. */
  code: string | null;
  text: string;
  /** The text as it may be shown and stored. */
  shown: string;
}

const PROBLEMS_MAX = 50;
const DEPTH_MAX = 6;
const FIELD_NAME_MAX = 100;
/** How much of a problem's text is searched for known words. */
const WORDS_WITHIN = 2_000;

/** Names under which frameworks report problems that belong to no single field. */
const WHOLE = new Set([
  'detail',
  'non_field_errors',
  '__all__',
  'message',
  'messages',
  'error',
  'errors',
  'reason',
  'title',
  'error_description',
]);
/** Fields of an error body that explain nothing. If such a field holds a list, it is a data field with problems. */
const NOISE = new Set([
  'type',
  'status',
  'statuscode',
  'status_code',
  'instance',
  'code',
  'success',
  'ok',
  'timestamp',
  'path',
]);

const word = z.string().min(1).optional().catch(undefined);

/** One problem as an object: DRF's full details, drf-standardized-errors, JSON:API and RFC 9457 all have this form. */
const ProblemObject = z.looseObject({
  detail: word,
  message: word,
  title: word,
  msg: word,
  code: word,
  attr: word,
  field: word,
  pointer: word,
  source: z.looseObject({ pointer: word }).optional().catch(undefined),
});

/**
 * Reads an error body of any of the usual forms: DRF's `{"detail"}` and per-field lists, RFC 9457 problem documents,
 * lists and envelopes of problem objects, and text or HTML, of which the beginning is kept.
 *
 * Sources: DRF "Exceptions"; RFC 9457; drf-standardized-errors; JSON:API "Error Objects".
 */
export function decodeError(body: string, clean: CleanText): ErrorBody {
  const value = parseJson(body);
  if (value === undefined) {
    const problems: Problem[] = [];
    addProblem(problems, { field: null, code: null }, body, clean);
    return { message: clean(body), fields: {}, problems };
  }
  return readProblems(value, clean);
}

/** Reads the problems in a whole answer or in a part of it. */
export function readProblems(value: JsonValue, clean: CleanText): ErrorBody {
  const problems: Problem[] = [];
  collect(value, { field: null, code: null }, 0, problems, clean);
  const shown = problems
    .filter((problem) => problem.shown !== '')
    .map(({ field, shown: text }) => ({ field: field === null ? null : clean(field, FIELD_NAME_MAX), text }));
  const fields = new Map<string, string>();
  for (const { field, text } of shown) {
    if (field === null) continue;
    const before = fields.get(field);
    fields.set(field, before === undefined ? text : clean(`${before}${/[.!?]$/.test(before) ? '' : ','} ${text}`));
  }
  const whole = shown.filter(({ field }) => field === null).map(({ text }) => text);
  const unsaid = [...fields].filter(([name]) => !isSaid(name, shown, whole));
  const named = unsaid.map(([name, text]) => `${name}: ${text}`);
  const message = clean([...new Set([...whole, ...named])].join(' '));
  return { message, fields: Object.fromEntries(fields), problems };
}

interface ShownProblem {
  field: string | null;
  text: string;
}

/**
 * True if one sentence about the whole request names the field and all its problems: "review is missing" and `missing:
 * review`.
 */
function isSaid(name: string, problems: readonly ShownProblem[], whole: readonly string[]): boolean {
  const texts = problems.filter(({ field }) => field === name).map(({ text }) => text.replace(/[.!?]$/, ''));
  return whole.some((sentence) => [name, ...texts].every((words) => hasWords(sentence, words)));
}

function hasWords(sentence: string, words: string): boolean {
  if (words === '') return true;
  const isPartOfWord = (character: string) => /[\p{L}\p{N}_]/u.test(character);
  for (let at = sentence.indexOf(words); at >= 0; at = sentence.indexOf(words, at + 1)) {
    if (!isPartOfWord(sentence.charAt(at - 1)) && !isPartOfWord(sentence.charAt(at + words.length))) return true;
  }
  return false;
}

function addProblem(into: Problem[], place: Place, text: string, clean: CleanText): void {
  into.push({ ...place, text: clean.plain(text, WORDS_WITHIN), shown: clean(text) });
}

interface Place {
  field: string | null;
  code: string | null;
}

function collect(value: JsonValue, place: Place, depth: number, into: Problem[], clean: CleanText): void {
  if (into.length >= PROBLEMS_MAX || depth > DEPTH_MAX) return;
  if (typeof value === 'string') {
    addProblem(into, place, value, clean);
  } else if (Array.isArray(value)) {
    for (const entry of value.slice(0, PROBLEMS_MAX)) collect(entry, place, depth + 1, into, clean);
  } else if (isJsonObject(value)) {
    collectObject(value, place, depth, into, clean);
  }
}

function collectObject(value: JsonObject, place: Place, depth: number, into: Problem[], clean: CleanText): void {
  const known = ProblemObject.parse(value);
  const code = known.code ?? place.code;
  const attribute = known.attr ?? known.field ?? known.pointer ?? known.source?.pointer;
  const own = attribute === undefined ? place.field : inside(place.field, fieldOf(attribute));
  const text = known.detail ?? known.message ?? known.msg ?? known.title;
  if (text !== undefined) addProblem(into, { field: own, code }, text, clean);
  for (const [name, member] of Object.entries(value).slice(0, PROBLEMS_MAX)) {
    if (isWord(name, member) || isNoise(name, member)) continue;
    const field = WHOLE.has(name) ? own : inside(place.field, name);
    collect(member, { field, code }, depth + 1, into, clean);
  }
}

/** True for the fields that `ProblemObject` has already read. */
function isWord(name: string, member: JsonValue): boolean {
  if (name === 'source') return isJsonObject(member);
  return typeof member === 'string' && Object.hasOwn(ProblemObject.shape, name);
}

/** A product has a field `status` and a material a field `code`, so the name alone does not decide. */
function isNoise(name: string, member: JsonValue): boolean {
  return NOISE.has(name.toLowerCase()) && !Array.isArray(member) && !isJsonObject(member);
}

function inside(field: string | null, name: string): string {
  return field === null ? name : `${field}.${name}`;
}

/** `/data/attributes/sku` and `#/sku` name the field `sku`. */
function fieldOf(attribute: string): string {
  return attribute.replace(/^#?\/(?:data\/(?:attributes\/)?)?/, '').replaceAll('/', '.');
}

// Reads the meaning of a refusal from its words, whatever its status is.

/** Codes for an existing item, and the messages of Django, Rails, Laravel, Spring and databases. */
const EXISTS_CODES = /^(?:unique|not_unique|unique_together|already_exists|exists|duplicate\w*|taken)$/i;
const EXISTS_TEXT =
  /already (?:exists?|in use|been taken|taken|registered)|must be unique|unique set|duplicate|not unique/i;

/** By draft-ietf-httpapi-idempotency-key-header the answer is 409 while the first request with the key is processed. */
const KEY_TEXT = /idempoten/i;
const BUSY_TEXT = /in[ _-]?progress|in[ _-]?flight|outstanding|concurrent|processing|processed|pending|in[ _-]?use/i;

/** Whether the refusal of a create states that the item exists. */
export function alreadyExists({ problems }: ErrorBody, uniqueFields: readonly string[]): boolean {
  return problems.some((problem) => isDuplicate(problem, uniqueFields));
}

/**
 * Whether a create may have been refused because its item exists. Platforms use any words for this, or none. But if the
 * answer names fields and the natural key is not among them, the refusal is about those fields.
 */
export function mayExist({ problems }: ErrorBody, uniqueFields: readonly string[]): boolean {
  const named = problems.flatMap(({ field }) => (field === null ? [] : [field.slice(field.lastIndexOf('.') + 1)]));
  return named.length === 0 || named.some((field) => uniqueFields.includes(field));
}

function isDuplicate({ field, code, text }: Problem, uniqueFields: readonly string[]): boolean {
  if ((field !== null && !uniqueFields.includes(field)) || KEY_TEXT.test(`${code ?? ''} ${text}`)) return false;
  return (code !== null && EXISTS_CODES.test(code)) || EXISTS_TEXT.test(text);
}

/** Whether the refusal states that the first request with the same idempotency key is still being processed. */
export function isKeyBusy(error: ErrorBody): boolean {
  return error.problems.some(({ code, text }) => {
    const said = `${code ?? ''} ${text}`;
    return KEY_TEXT.test(said) && BUSY_TEXT.test(said);
  });
}

// Recognises a refusal that a platform sends with the status of a success: `{"success": false, "error": "sku invalid"}`.

/** Fields that state in true or false whether the request succeeded. */
const FLAGS = ['success', 'ok', 'succeeded'] as const;
const FAILED = /^(?:error|errored|fail|failed|failure)$/i;
/** Fields that hold the problems. */
const PROBLEMS = ['errors', 'error'] as const;

/** An answer that refuses the request although its status is a success. */
export interface SoftRefusal {
  problems: ErrorBody;
  /** True if a flag or a status states the failure. False if the answer only has problems. */
  isStated: boolean;
}

/**
 * The refusal in an answer with the status of a success; null for any other answer.
 *
 * @param isItem whether the answer is the written item itself. Then the status is that of the item, and problems beside
 *   it are no refusal.
 * @param isImport whether the request is a bulk import. Its words and problems may be about single rows.
 */
export function softRefusal(
  answer: JsonValue,
  { isItem, isImport, clean }: { isItem: boolean; isImport: boolean; clean: CleanText },
): SoftRefusal | null {
  if (!isJsonObject(answer)) return null;
  const member = (name: string): JsonValue | undefined => (Object.hasOwn(answer, name) ? answer[name] : undefined);
  const status = member('status');
  const isStated =
    FLAGS.some((name) => member(name) === false) ||
    (!isItem && !isImport && typeof status === 'string' && FAILED.test(status.trim()));
  // Beside a stated success, problems are remarks, or an object for problems without any.
  const saysDone = FLAGS.some((name) => member(name) === true);
  const hasProblems = !isItem && !isImport && !saysDone && PROBLEMS.some((name) => isProblem(member(name)));
  return isStated || hasProblems ? { problems: readProblems(answer, clean), isStated } : null;
}

/** Empty texts, lists and objects mean that there is no problem. */
function isProblem(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'number') return false;
  if (typeof value === 'string') return value.trim() !== '';
  return Object.keys(value).length > 0;
}
