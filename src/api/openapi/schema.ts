import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { ApiDocument } from './document.ts';

/** What a schema says of a value, its references, `allOf` and alternatives taken together. */
export interface SchemaView {
  /** JSON types, `null` only where it is the only one; empty where the schema names none. */
  types: ReadonlySet<string>;
  /** Members of an object, each as it stands in the document. */
  properties: ReadonlyMap<string, JsonValue>;
  /** Members that every alternative asks for. */
  required: ReadonlySet<string>;
  /** The schema of a list's entries; null where it is none or says nothing of them. */
  items: JsonValue | null;
  maxItems: number | null;
  /** True where it is only ever answered. */
  readOnly: boolean;
}

/** Reads schemas of one document. */
export interface SchemaReader {
  view(schema: JsonValue | undefined): SchemaView;
  /** The schema at a dotted path through members, or undefined. */
  at(schema: JsonValue | undefined, path: string): JsonValue | undefined;
}

const DEPTH_MAX = 16;
const ALTERNATIVES_MAX = 50;
const PROPERTIES_MAX = 1_000;
/** Schemas that are looked at in one comparison. A document that is made to explode is cut off here. */
const LOOKS_MAX = 100_000;

const NOTHING: SchemaView = {
  types: new Set(),
  properties: new Map(),
  required: new Set(),
  items: null,
  maxItems: null,
  readOnly: false,
};

export function createSchemaReader({ resolve }: Pick<ApiDocument, 'resolve'>): SchemaReader {
  let looks = 0;

  function look(schema: JsonValue | undefined, depth: number): SchemaView {
    looks += 1;
    const own = resolve(schema);
    if (own === null || depth > DEPTH_MAX || looks > LOOKS_MAX) return NOTHING;
    const all = [ownView(own), ...listOf(own['allOf']).map((part) => look(part, depth + 1))];
    const alternatives = [...listOf(own['oneOf']), ...listOf(own['anyOf'])]
      .map((part) => look(part, depth + 1))
      .filter((view) => !isNull(view));
    if (alternatives.length > 0) all.push(either(alternatives));
    return together(all);
  }

  const view: SchemaReader['view'] = (schema) => look(schema, 0);
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
  };
}

function ownView(schema: JsonObject): SchemaView {
  const { type, properties, required, items, maxItems } = schema;
  const types = [type].flat().filter((one): one is string => typeof one === 'string');
  const members = properties !== undefined && isJsonObject(properties) ? Object.entries(properties) : [];
  return {
    types: new Set(types),
    properties: new Map(members.slice(0, PROPERTIES_MAX)),
    required: new Set(listOf(required).filter((name): name is string => typeof name === 'string')),
    items: items ?? null,
    maxItems: typeof maxItems === 'number' ? maxItems : null,
    readOnly: schema['readOnly'] === true,
  };
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value.slice(0, ALTERNATIVES_MAX) : [];
}

/** An alternative that only allows the value to be missing. */
function isNull({ types, properties }: SchemaView): boolean {
  return properties.size === 0 && types.size === 1 && types.has('null');
}

/** All of the views hold. */
function together(views: readonly SchemaView[]): SchemaView {
  const merged = merge(views);
  return { ...merged, required: new Set(views.flatMap(({ required }) => [...required])) };
}

/** One of the views holds. */
function either(views: readonly SchemaView[]): SchemaView {
  const [first, ...others] = views;
  const common = [...(first?.required ?? [])].filter((name) => others.every(({ required }) => required.has(name)));
  return { ...merge(views), required: new Set(common) };
}

function merge(views: readonly SchemaView[]): SchemaView {
  const types = new Set(views.flatMap(({ types: own }) => [...own]));
  if (types.size > 1) types.delete('null');
  const limits = views.flatMap(({ maxItems }) => maxItems ?? []);
  return {
    types,
    properties: new Map(views.flatMap(({ properties }) => [...properties])),
    required: new Set(),
    items: views.find(({ items }) => items !== null)?.items ?? null,
    maxItems: limits.length === 0 ? null : Math.min(...limits),
    readOnly: views.some(({ readOnly }) => readOnly),
  };
}
