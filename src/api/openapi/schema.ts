import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { ApiDocument } from './document.ts';

/** What a schema states about a value, with references, `allOf` and alternatives combined. */
export interface SchemaView {
  /** The JSON types; empty if the schema names none. `null` is listed only if it is the only type. */
  types: ReadonlySet<string>;
  /** The properties of an object, each as in the document. */
  properties: ReadonlyMap<string, JsonValue>;
  /** The properties that every alternative requires. */
  required: ReadonlySet<string>;
  /** The schema of a list's entries; null if the value is no list or its entries have no schema. */
  items: JsonValue | null;
  maxItems: number | null;
  /** The longest text; null if there is no limit. */
  maxLength: number | null;
  /** The allowed values; null if any value is allowed. */
  values: readonly JsonValue[] | null;
  /** True if the value is only in answers. */
  readOnly: boolean;
  /** Why a part of the schema cannot be read, so that this view is incomplete; null if all parts were read. */
  unread: string | null;
}

/** Reads schemas of one document. */
export interface SchemaReader {
  view(schema: JsonValue | undefined): SchemaView;
  /** The schema at a dotted path of properties, or undefined. */
  at(schema: JsonValue | undefined, path: string): JsonValue | undefined;
  /** A reader that also reports every schema that cannot be read. */
  reporting(report: (why: string) => void): SchemaReader;
}

const DEPTH_MAX = 16;
const ALTERNATIVES_MAX = 50;
const PROPERTIES_MAX = 1_000;
/** How many schemas one comparison reads. This bounds the work for a document that was made to exhaust the reader. */
const LOOKS_MAX = 100_000;

const NOTHING: SchemaView = {
  types: new Set(),
  properties: new Map(),
  required: new Set(),
  items: null,
  maxItems: null,
  maxLength: null,
  values: null,
  readOnly: false,
  unread: null,
};

export function createSchemaReader({ resolve, whyUnread }: Pick<ApiDocument, 'resolve' | 'whyUnread'>): SchemaReader {
  let looks = 0;

  function look(schema: JsonValue | undefined, depth: number): SchemaView {
    looks += 1;
    if (looks > LOOKS_MAX) return { ...NOTHING, unread: 'more schemas than one comparison reads' };
    if (depth > DEPTH_MAX) return { ...NOTHING, unread: 'schemas that are nested too deeply, or in a circle' };
    const own = resolve(schema);
    if (own === null) return { ...NOTHING, unread: whyUnread(schema) };
    const all = [ownView(own), ...listOf(own['allOf']).map((part) => look(part, depth + 1))];
    const alternatives = [...listOf(own['oneOf']), ...listOf(own['anyOf'])]
      .map((part) => look(part, depth + 1))
      .filter((view) => !isNull(view));
    if (alternatives.length > 0) all.push(either(alternatives));
    return together(all);
  }

  const reader = (report: (why: string) => void): SchemaReader => {
    const view: SchemaReader['view'] = (schema) => {
      const seen = look(schema, 0);
      if (seen.unread !== null) report(seen.unread);
      return seen;
    };
    return {
      view,
      at(schema, path) {
        let at = schema;
        for (const name of path.split('.')) {
          at = view(at).properties.get(name);
          if (at === undefined) return undefined;
        }
        return at;
      },
      reporting: reader,
    };
  };
  return reader(() => undefined);
}

function ownView(schema: JsonObject): SchemaView {
  const { type, properties, required, items, maxItems, maxLength, enum: values } = schema;
  const types = [type].flat().filter((one): one is string => typeof one === 'string');
  const members = properties !== undefined && isJsonObject(properties) ? Object.entries(properties) : [];
  return {
    types: new Set(types),
    properties: new Map(members.slice(0, PROPERTIES_MAX)),
    required: new Set(listOf(required).filter((name): name is string => typeof name === 'string')),
    items: items ?? null,
    maxItems: typeof maxItems === 'number' ? maxItems : null,
    maxLength: typeof maxLength === 'number' ? maxLength : null,
    values: Array.isArray(values) ? values : schema['const'] === undefined ? null : [schema['const']],
    readOnly: schema['readOnly'] === true,
    unread: excessOf(schema, members.length),
  };
}

/** Describes which parts of a schema exceed the bound; null if none does. */
function excessOf(schema: JsonObject, members: number): string | null {
  const parts = ['allOf', 'oneOf', 'anyOf'].map((name) => schema[name]);
  if (parts.some((list) => Array.isArray(list) && list.length > ALTERNATIVES_MAX)) {
    return `more than ${ALTERNATIVES_MAX} alternatives or parts of one schema`;
  }
  return members > PROPERTIES_MAX ? `more than ${PROPERTIES_MAX} members of one object` : null;
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value.slice(0, ALTERNATIVES_MAX) : [];
}

/** True for an alternative that only allows the value to be missing. */
function isNull({ types, properties }: SchemaView): boolean {
  return properties.size === 0 && types.size === 1 && types.has('null');
}

/** Combines views. A value has to fit all of them. */
function together(views: readonly SchemaView[]): SchemaView {
  const lengths = views.flatMap(({ maxLength }) => maxLength ?? []);
  const [first, ...others] = views.flatMap(({ values }) => (values === null ? [] : [values]));
  return {
    ...merge(views),
    required: new Set(views.flatMap(({ required }) => [...required])),
    maxLength: lengths.length === 0 ? null : Math.min(...lengths),
    values: first?.filter((value) => others.every((other) => other.includes(value))) ?? null,
  };
}

/** Combines views. A value has to fit one of them. */
function either(views: readonly SchemaView[]): SchemaView {
  const [first, ...others] = views;
  const common = [...(first?.required ?? [])].filter((name) => others.every(({ required }) => required.has(name)));
  const lengths = views.flatMap(({ maxLength }) => maxLength ?? []);
  const values = views.flatMap((view) => (view.values === null ? [] : [view.values]));
  return {
    ...merge(views),
    required: new Set(common),
    maxLength: lengths.length < views.length ? null : Math.max(...lengths),
    values: values.length < views.length ? null : values.flat(),
  };
}

function merge(views: readonly SchemaView[]): Omit<SchemaView, 'required' | 'maxLength' | 'values'> {
  const types = new Set(views.flatMap(({ types: own }) => [...own]));
  if (types.size > 1) types.delete('null');
  const limits = views.flatMap(({ maxItems }) => maxItems ?? []);
  return {
    types,
    properties: new Map(views.flatMap(({ properties }) => [...properties])),
    items: views.find(({ items }) => items !== null)?.items ?? null,
    maxItems: limits.length === 0 ? null : Math.min(...limits),
    readOnly: views.some(({ readOnly }) => readOnly),
    unread: views.find(({ unread }) => unread !== null)?.unread ?? null,
  };
}
