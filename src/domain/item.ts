import { z } from 'zod';
import { compareDecimals, normalizeDecimal } from '../lib/decimal.ts';
import { err, ok, type Result } from '../lib/errors.ts';
import { sha256Url } from '../lib/hash.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../lib/json.ts';
import type { Issue } from './issue.ts';

export const ITEM_KINDS = ['product', 'material', 'bom_item'] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** The kinds of subjects that have a history in the ledger: items, and the passports of products. */
export const SUBJECT_KINDS = [...ITEM_KINDS, 'passport'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];
export const isSubjectKind = (value: unknown): value is SubjectKind => SUBJECT_KINDS.some((kind) => kind === value);

/** An item's pointer to another one. `material` points to a material, `product` and `component` to products. */
export interface ItemRef {
  role: RefRole;
  kind: ItemKind;
  key: string;
  /**
   * True for a part that may be a material or a component. The item that has the key decides. The role is `component`
   * until the ledger knows that item.
   */
  either?: true;
}

/** Makes a ref to the material or component that has this key. */
export function partRef(key: string): ItemRef {
  return { role: 'component', kind: 'product', key, either: true };
}

export const REF_ROLES = ['product', 'material', 'component'] as const;
export type RefRole = (typeof REF_ROLES)[number];

/** True if items of this kind can have refs. A BOM item has refs, and a passport has a ref to its product. */
export function hasRefs(kind: SubjectKind): boolean {
  return kind === 'bom_item' || kind === 'passport';
}

/** The kind of item that each role points to. */
export const REF_KINDS: Record<RefRole, ItemKind> = { product: 'product', material: 'material', component: 'product' };

/** A product, material or BOM item in the canonical form. */
export interface Item {
  kind: ItemKind;
  /** A stable id by which other streams refer to the item. It need not be the API's natural key. */
  key: string;
  payload: JsonObject;
  /** Empty for products and materials; a BOM item has its product and exactly one of material or component. */
  refs: ItemRef[];
}

/** A text. White space around it is kept: the source or the expression decides whether to cut it off. */
const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => value.trim() !== '', 'expected text that is not blank');

const decimal = z.union([z.string(), z.number(), z.bigint()]).transform((value, context) => {
  const normal = normalizeDecimal(String(value));
  if (normal !== null) return normal;
  context.addIssue({ code: 'custom', message: 'expected a decimal number such as "12.5"' });
  return z.NEVER;
});

const fraction = decimal.refine((value) => compareDecimals(value, '0') >= 0 && compareDecimals(value, '1') <= 0, {
  message: 'expected a fraction from 0 to 1; a percentage has to be divided by 100 in the mapping',
});

const positive = decimal.refine((value) => compareDecimals(value, '0') > 0, { message: 'expected a number above 0' });

const notNegative = decimal.refine((value) => compareDecimals(value, '0') >= 0, {
  message: 'expected 0 or more',
});

const country = z.string().regex(/^[A-Z]{2}$/, 'expected an upper-case ISO 3166-1 alpha-2 code; country(…) makes one');
const unit = z.string().regex(/^[A-Z0-9]{2,3}$/, 'expected a UNECE Rec 20 code such as "KGM"; unit(…) makes one');
const day = z.iso.date('expected a date as YYYY-MM-DD; date(…) makes one');

/**
 * The canonical fields of each kind. The product's fields are those of the API document. The names of the other fields
 * follow the UNTP Digital Product Passport vocabulary, in the API's snake case, because the document does not define
 * them.
 */
export const ITEM_FIELDS = {
  product: {
    sku: text(255),
    name: text(500),
    status: text(64).optional(),
    country_of_origin: country.optional(),
    description: text(10_000).optional(),
    gtin: z
      .string()
      .regex(/^\d{14}$/, 'expected 14 digits; gtin(…) makes them')
      .optional(),
  },
  material: {
    code: text(255).optional(),
    name: text(500),
    description: text(10_000).optional(),
    category: text(255).optional(),
    origin_country: country.optional(),
    recycled_mass_fraction: fraction.optional(),
    hazardous: z.boolean().optional(),
    composition: z
      .array(z.strictObject({ name: text(500), cas: text(32).optional(), mass_fraction: fraction }))
      .max(200)
      .optional(),
  },
  bom_item: {
    quantity: positive,
    unit: unit.optional(),
    per_quantity: positive.optional(),
    position: text(64).optional(),
    mass: z.strictObject({ value: notNegative, unit }).optional(),
    mass_fraction: fraction.optional(),
    valid_from: day.optional(),
    valid_to: day.optional(),
  },
} as const;

const CODE = 'the alpha-2 code of a country; `country()` makes one';
const UNIT = 'a code of UNECE Rec 20 or 21; `unit()` makes one';
const DAY = 'a day as YYYY-MM-DD; `date()` makes one';
const ABOVE_0 = 'a decimal above 0, as a number or a text such as "12.5"';
const FRACTION = 'a decimal from 0 to 1; a percentage has to be divided by 100';
/** @param max as people write it. A number is not formatted here, because that loads the data of a language at every start. */
const upTo = (max: string) => `text of 1 to ${max} characters`;

/** The type of value that each canonical field takes, for messages and for the reference. */
export const FIELD_TYPES: { readonly [Kind in ItemKind]: Readonly<Record<keyof (typeof ITEM_FIELDS)[Kind], string>> } =
  {
    product: {
      sku: upTo('255'),
      name: upTo('500'),
      status: upTo('64'),
      country_of_origin: CODE,
      description: upTo('10,000'),
      gtin: '14 digits; `gtin()` makes them',
    },
    material: {
      code: upTo('255'),
      name: upTo('500'),
      description: upTo('10,000'),
      category: upTo('255'),
      origin_country: CODE,
      recycled_mass_fraction: FRACTION,
      hazardous: 'true or false',
      composition:
        'a list of at most 200 objects {name, mass_fraction, cas}: name is text, mass_fraction a decimal from 0 to 1, and cas may be left out',
    },
    bom_item: {
      quantity: ABOVE_0,
      unit: UNIT,
      per_quantity: ABOVE_0,
      position: upTo('64'),
      mass: 'an object {value, unit}: value is a decimal of 0 or more, and unit a code of UNECE Rec 20',
      mass_fraction: FRACTION,
      valid_from: DAY,
      valid_to: DAY,
    },
  };

/** The type of value that a canonical field takes; undefined for all other fields. */
function typeOfField(kind: ItemKind, field: string): string | undefined {
  const types: Readonly<Record<string, string>> = FIELD_TYPES[kind];
  return Object.hasOwn(types, field) ? types[field] : undefined;
}

/** Names of the canonical fields of a kind. */
export function fieldNamesOf(kind: ItemKind): string[] {
  return Object.keys(ITEM_FIELDS[kind]);
}

const PAYLOADS = {
  product: z.looseObject(ITEM_FIELDS.product),
  material: z.looseObject(ITEM_FIELDS.material),
  bom_item: z.looseObject(ITEM_FIELDS.bom_item),
} as const;

const KEY_LENGTH_MAX = 500;

/**
 * Validates and normalises an item: decimals get their normal form, text is trimmed, and empty optional fields are left
 * out. Fields that are not canonical stay unchanged; the profile decides whether they are allowed.
 */
export function parseItem(draft: Item): Result<Item, Issue[]> {
  const issues: Issue[] = [...keyIssues(draft), ...refIssues(draft)];
  const given: JsonObject = {};
  for (const [name, value] of Object.entries(draft.payload)) {
    if (value !== null && value !== '') given[name] = value;
  }
  const parsed = PAYLOADS[draft.kind].safeParse(given, { error: wordsOfProblem });
  if (!parsed.success) {
    for (const problem of parsed.error.issues) issues.push(fieldIssue(draft.kind, given, problem));
  }
  if (issues.length > 0 || !parsed.success) return err(issues);
  return ok({ ...draft, payload: parsed.data as JsonObject });
}

function fieldIssue(kind: ItemKind, given: JsonObject, problem: z.core.$ZodIssue): Issue {
  const field = problem.path.map(String).join('.');
  const value = problem.path.reduce<JsonValue | undefined>(
    (at, part) => (typeof at === 'object' && at !== null ? (at as Record<PropertyKey, JsonValue>)[part] : undefined),
    given,
  );
  if (value === undefined) {
    return { code: 'field.required', field, message: `${field} is required and the row gave no value for it.` };
  }
  const root = String(problem.path[0] ?? '');
  const type = typeOfField(kind, root);
  const takes = type === undefined ? '' : ` ${root} is ${type}.`;
  return { code: 'field.invalid', field, value, message: `${field}: ${problem.message}.${takes}` };
}

function keyIssues(draft: Item): Issue[] {
  if (draft.key.trim() === '') {
    return [{ code: 'key.empty', field: 'key', value: draft.key, message: `The key of this ${draft.kind} is empty.` }];
  }
  if (draft.key.length <= KEY_LENGTH_MAX) return [];
  const message = `The key is ${draft.key.length} characters long; at most ${KEY_LENGTH_MAX} are allowed.`;
  return [{ code: 'key.long', field: 'key', value: `${draft.key.slice(0, 80)}…`, message }];
}

function refIssues(draft: Item): Issue[] {
  if (draft.kind !== 'bom_item') {
    if (draft.refs.length === 0) return [];
    return [
      { code: 'refs.unexpected', field: 'refs', message: `Only BOM items have refs, and this is a ${draft.kind}.` },
    ];
  }
  const issues: Issue[] = [];
  const targets = new Map<RefRole, ItemRef>();
  for (const ref of draft.refs) {
    if (ref.key.trim() !== '') targets.set(ref.role, ref);
  }
  const product = targets.get('product');
  const component = targets.get('component');
  if (!product) {
    issues.push({
      code: 'refs.product',
      field: 'refs.product',
      message: 'A BOM item must name the product to which it belongs; the row gave none.',
    });
  }
  if (targets.has('material') === targets.has('component')) {
    const found = targets.has('material') ? 'both' : 'neither';
    const message = `A BOM item must name exactly one of material and component; the row gave ${found}.`;
    issues.push({ code: 'refs.part', field: 'refs', message });
  }
  if (product && component && component.either !== true && product.key === component.key) {
    const message = `The product "${product.key}" is listed as a component of itself.`;
    issues.push({ code: 'refs.cycle', field: 'refs.component', value: component.key, message });
  }
  return issues;
}

/** The content of an item in the form in which it is stored and compared. */
export interface ItemContent {
  /** The payload as canonical JSON. */
  payload: string;
  /** SHA-256 over the canonical JSON of payload and refs. */
  hash: string;
}

/** Text and hash of an item's content. */
export function contentOf(item: Pick<Item, 'payload' | 'refs'>): ItemContent {
  const payload = canonicalJson(item.payload);
  const refs = canonicalJson(item.refs.map(({ role, kind, key }) => ({ role, kind, key })));
  return { payload, hash: sha256Url(`{"payload":${payload},"refs":${refs}}`) };
}

/** The hash by which items are compared. */
export function itemHash(item: Pick<Item, 'payload' | 'refs'>): string {
  return contentOf(item).hash;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** Describes the problem of an item's value if the schema has no message for it. Ends without a full stop. */
export function wordsOfProblem(problem: z.core.$ZodRawIssue): string | undefined {
  switch (problem.code) {
    case 'invalid_type':
      return `found ${kindOf(problem.input)}, expected ${TYPES[problem.expected] ?? problem.expected}`;
    case 'invalid_union':
      return `found ${kindOf(problem.input)}, expected a number or text`;
    case 'too_big': {
      const [have, what] = problem.origin === 'array' ? ['list', 'entries'] : ['text', 'characters'];
      const { length } = problem.input as { length: number };
      return `the ${have} has ${length} ${what}, expected at most ${problem.maximum}`;
    }
    case 'unrecognized_keys':
      return `${problem.keys.map((key) => JSON.stringify(key)).join(', ')} is not a member of the object`;
    case 'invalid_value':
      return `expected ${problem.values.length === 1 ? '' : 'one of '}${problem.values.map(String).join(', ')}`;
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'not_multiple_of':
    case 'too_small':
      return undefined;
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'boolean' ? String(value) : (TYPES[typeof value] ?? typeof value);
}

/** An id of the platform as text, because a platform may answer with the number 7 and list the text "7". */
export function remoteIdText(id: JsonValue): string {
  return typeof id === 'string' ? id : JSON.stringify(id);
}

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
/** Ids such as those of MongoDB (24 characters), ULID (26) and KSUID (27). */
const LONG_RANDOM = /^(?=.*\d)(?=.*[A-Za-z])[\dA-Za-z]{20,}$/;

/**
 * True for an id that a platform makes for one item of all kinds: a UUID, or another long random text. A number, a code
 * or a readable text may belong to one item of each kind.
 */
export function isIdOfAllKinds(id: JsonValue): boolean {
  return typeof id === 'string' && (UUID.test(id) || LONG_RANDOM.test(id));
}
