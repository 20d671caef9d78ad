import { z } from 'zod';
import { compareDecimals, normalizeDecimal } from '../../lib/decimal.ts';
import { err, ok, type Result } from '../../lib/errors.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { type Answer, invalid, refusal } from '../api/operation.ts';

/** The name for errors that do not concern a single field. */
const NON_FIELD = 'non_field_errors';

/** At most this many unknown fields are named in an answer, so that a hostile body is not repeated completely. */
const UNKNOWN_FIELDS_MAX = 50;

/** Validates a request body. Its problems become the 400 for the client. */
export function validate<T>(schema: z.ZodType<T>, body: unknown): Result<T, Answer> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return ok(parsed.data);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const message = `Invalid data. Expected a dictionary, but got ${pythonTypeOf(body)}.`;
    return err(invalid({ [NON_FIELD]: [message] }));
  }
  return err(invalid(fieldErrors(parsed.error.issues)));
}

interface ErrorNode {
  messages: string[];
  members: Map<PropertyKey, ErrorNode>;
}

function fieldErrors(issues: z.core.$ZodIssue[]): JsonObject {
  const root = emptyNode();
  for (const issue of issues) {
    const node = issue.path.reduce(memberOf, root);
    if (issue.code === 'unrecognized_keys') {
      for (const name of issue.keys.slice(0, UNKNOWN_FIELDS_MAX)) memberOf(node, name).messages.push('Unknown field.');
    } else {
      (node === root ? memberOf(root, NON_FIELD) : node).messages.push(issue.message);
    }
  }
  return membersOf(root);
}

function emptyNode(): ErrorNode {
  return { messages: [], members: new Map() };
}

function memberOf(node: ErrorNode, name: PropertyKey): ErrorNode {
  const known = node.members.get(name);
  if (known) return known;
  const created = emptyNode();
  node.members.set(name, created);
  return created;
}

/**
 * Renders the problems of a body. For a list of objects it is a list up to the last bad element, with `{}` for each
 * good element before it.
 */
function render(node: ErrorNode): JsonValue {
  if (node.messages.length > 0) return [...new Set(node.messages)];
  const indexes = [...node.members.keys()].filter((name) => typeof name === 'number');
  if (indexes.length === 0) return membersOf(node);
  return Array.from({ length: Math.max(...indexes) + 1 }, (_, index) => {
    const member = node.members.get(index);
    if (!member) return {};
    return member.messages.length > 0 ? { [NON_FIELD]: member.messages } : membersOf(member);
  });
}

function membersOf(node: ErrorNode): JsonObject {
  return Object.fromEntries([...node.members].map(([name, member]) => [String(name), render(member)]));
}

function pythonTypeOf(value: unknown): string {
  if (value === null || value === undefined) return 'NoneType';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  return typeof value === 'boolean' ? 'bool' : 'str';
}

/** How the sandbox treats a second item with the same key. The document leaves this open. */
export const Duplicates = z.strictObject({
  taken: z
    .boolean()
    .default(false)
    .describe(
      'Whether a second product or material with the same SKU, code or name is accepted as a new item. This setting needs storage in memory.',
    ),
  status: z
    .union([z.literal(400), z.literal(409), z.literal(422)])
    .default(400)
    .describe('The status of the refusal.'),
  detail: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      'The text of the answer. It need not mention the existing item. With null the answer names the field, like Django REST Framework.',
    ),
});
export type Duplicates = z.infer<typeof Duplicates>;

/** Refuses a second `noun` with the same value of `field`. */
export function duplicate(noun: string, field: string, { status, detail }: Duplicates): Answer {
  if (detail !== null) return refusal(status, detail);
  return { ...invalid({ [field]: [`${noun} with this ${field} already exists.`] }), status };
}

const DIGITS_MAX = 30;

/** The message of a type error, which depends on whether there was a value. */
function typed(message: string): { error: (issue: { input?: unknown }) => string } {
  return {
    error: ({ input }) => {
      if (input === undefined) return 'This field is required.';
      return input === null ? 'This field may not be null.' : message;
    },
  };
}

/**
 * A text of 1 to `max` characters. Characters that a database column cannot contain (NUL, half a surrogate pair) are
 * refused.
 */
export function text(max: number) {
  return z
    .string(typed('Not a valid string.'))
    .max(max, `Ensure this field has no more than ${max} characters.`)
    .superRefine((value, context) => {
      // All checks are in one function for speed, because it runs for every text of every body.
      if (value.trim() === '') context.addIssue('This field may not be blank.');
      if (value.includes('\0')) context.addIssue('Null characters are not allowed.');
      if (!value.isWellFormed()) context.addIssue('Surrogate characters are not allowed.');
    })
    .meta({ minLength: 1, maxLength: max });
}

/** The name that an administrator gives a workspace, key or user. */
export const Label = text(200);

/** One of a closed list of texts. */
export function choice<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, {
    error: ({ input }) => {
      if (input === undefined) return 'This field is required.';
      return input === null ? 'This field may not be null.' : notAChoice(input);
    },
  });
}

function notAChoice(input: unknown): string {
  const shown = typeof input === 'string' ? input : typeof input;
  return `"${shown.slice(0, 80)}" is not a valid choice.`;
}

/** An upper-case ISO 3166-1 alpha-2 code that is assigned. */
export function country() {
  return z
    .string(typed('Not a valid string.'))
    .refine(isCountryCode, { error: ({ input }) => notAChoice(input) })
    .meta({
      pattern: '^[A-Z]{2}$',
      description: 'A country as ISO 3166-1 alpha-2 assigns it.',
    });
}

/** True or false, but not 0, 1 or words for them. */
export function flag() {
  return z.boolean(typed('Must be a valid boolean.'));
}

/** The range of a decimal. `above` excludes its value; `min` and `max` include theirs. */
interface DecimalBounds {
  above?: string;
  min?: string;
  max?: string;
}

/** A decimal as text or number, without an exponent as text. The parsed value is always the normal form as text. */
export function decimal(bounds: DecimalBounds) {
  return z.union([z.string(), z.number()], typed('A valid number is required.')).transform((given, context) => {
    const read = readDecimal(given, bounds);
    if (read.ok) return read.value;
    context.addIssue({ code: 'custom', message: read.error });
    return z.NEVER;
  });
}

/** A share of a whole, from 0 to 1. */
export function fraction() {
  return decimal({ min: '0', max: '1' });
}

/** The decimal in its normal form, or the problem with it. */
function readDecimal(given: string | number, { above, min, max }: DecimalBounds): Result<string, string> {
  if (typeof given === 'string' && (given.length > 100 || !/^-?\d+(\.\d+)?$/.test(given))) {
    return err('A valid number is required.');
  }
  const value = normalizeDecimal(String(given));
  if (value === null) return err('A valid number is required.');
  if (value.length > DIGITS_MAX && value.replace(/\D/g, '').length > DIGITS_MAX) {
    return err(`Ensure that there are no more than ${DIGITS_MAX} digits in total.`);
  }
  if (above !== undefined && compareDecimals(value, above) <= 0)
    return err(`Ensure this value is greater than ${above}.`);
  if (min !== undefined && compareDecimals(value, min) < 0) {
    return err(`Ensure this value is greater than or equal to ${min}.`);
  }
  if (max !== undefined && compareDecimals(value, max) > 0)
    return err(`Ensure this value is less than or equal to ${max}.`);
  return ok(value);
}

/** A calendar day. */
export function day() {
  return z.iso.date(typed('Date has wrong format. Use one of these formats instead: YYYY-MM-DD.'));
}

/** A GTIN in its 14-digit form with a valid check digit (GS1 General Specifications, section 7.9). */
export function gtin() {
  return z
    .string(typed('Not a valid string.'))
    .regex(/^\d{14}$/, { error: 'Enter a GTIN of 14 digits.', abort: true })
    .refine((value) => checkDigitOf(value.slice(0, 13)) === value.at(-1), 'The check digit of the GTIN is wrong.');
}

function checkDigitOf(digits: string): string {
  const sum = Array.from(digits).reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 3 : 1), 0);
  return String((10 - (sum % 10)) % 10);
}

/** A CAS Registry Number: up to ten digits, the last of which checks the others, weighted 1, 2, 3 … from the right. */
export function cas() {
  return z
    .string(typed('Not a valid string.'))
    .regex(/^[1-9]\d{1,6}-\d{2}-\d$/, { error: 'Enter a CAS number such as 7732-18-5.', abort: true })
    .refine((value) => {
      const digits = Array.from(value.replaceAll('-', ''), Number).reverse();
      const sum = digits.slice(1).reduce((total, digit, index) => total + digit * (index + 1), 0);
      return sum % 10 === digits[0];
    }, 'The check digit of the CAS number is wrong.');
}

/** An object with exactly these members. */
export function group<T extends z.ZodRawShape>(shape: T) {
  return z.strictObject(shape, typed('Invalid data. Expected a dictionary.'));
}

/** A list of at most `max` elements. The length is checked first, so that a huge list only gives one message. */
export function list<T extends z.ZodType>(element: T, max: number) {
  return z
    .array(z.unknown(), typed('Expected a list of items.'))
    .max(max, `Ensure this field has no more than ${max} elements.`)
    .pipe(z.array(element));
}

/** The 249 codes that ISO 3166-1 alpha-2 assigns, by first letter. */
const CODES = `
  AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
  CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
  GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
  KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT
  MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
  SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ
  UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`;

const ASSIGNED: ReadonlySet<string> = new Set(CODES.trim().split(/\s+/));

/** True for an assigned code in upper case. */
export function isCountryCode(code: string): boolean {
  return ASSIGNED.has(code);
}
