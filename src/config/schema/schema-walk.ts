import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import type { PathSegment } from '../problem.ts';

type Schema = z.core.$ZodType;

/** The keys that an object at the path may have, by the values around it that decide between several forms. */
export function keysAt(schema: Schema, path: readonly PathSegment[], value?: unknown): string[] {
  let level = [schema];
  for (const [at, segment] of path.entries()) {
    const around = valueAt(value, path.slice(0, at));
    level = level.flatMap((one) => formsOf(one, around)).flatMap((form) => membersOf(form, segment));
  }
  const shapes = level.flatMap((one) => formsOf(one, valueAt(value, path))).map(defOf);
  return [...new Set(shapes.flatMap((def) => ('shape' in def ? Object.keys(def.shape) : [])))];
}

/**
 * The paths of secrets in the value, which `.meta({ secret: true })` marks. It reads zod's own schemas, because
 * converting them to JSON Schema takes a tenth of the time of a short command.
 */
export function secretPathsIn(schema: Schema, value: unknown, path: readonly PathSegment[] = []): PathSegment[][] {
  if (value === undefined) return [];
  const forms = formsOf(schema);
  if (forms.some((form) => z.globalRegistry.get(form)?.['secret'] === true)) return [[...path]];
  if (typeof value !== 'object' || value === null) return [];
  const members: [PathSegment, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return members.flatMap(([name, member]) =>
    forms.flatMap((form) => membersOf(form, name)).flatMap((inner) => secretPathsIn(inner, member, [...path, name])),
  );
}

function defOf(schema: Schema): z.core.$ZodTypes['_zod']['def'] {
  return (schema as z.core.$ZodTypes)._zod.def;
}

/**
 * The schema and all those within it that take the same value: the schema in a wrapper, and the alternatives of a
 * union. Given the value, the alternatives for which its discriminator stands, if there are any.
 */
function formsOf(schema: Schema, value?: unknown): Schema[] {
  return [schema, ...alternativesOf(defOf(schema), value).flatMap((one) => formsOf(one, value))];
}

function alternativesOf(def: z.core.$ZodTypes['_zod']['def'], value: unknown): readonly Schema[] {
  if ('innerType' in def) return [def.innerType];
  if (def.type === 'union') {
    const meant =
      'discriminator' in def ? def.options.filter((option) => isMeant(option, def.discriminator, value)) : [];
    return meant.length === 0 ? def.options : meant;
  }
  if (def.type === 'intersection') return [def.left, def.right];
  // Both sides of a pipe are searched, because a secret may be transformed before it is checked.
  if (def.type === 'pipe') return [def.in, def.out];
  return def.type === 'lazy' ? [def.getter()] : [];
}

function isMeant(option: Schema, discriminator: unknown, value: unknown): boolean {
  const name = String(discriminator);
  const given = isJsonObject(value) ? value[name] : undefined;
  return option._zod.propValues?.[name]?.has(given as string) === true;
}

function membersOf(schema: Schema, segment: PathSegment): Schema[] {
  const def = defOf(schema);
  if (typeof segment === 'number') {
    if (def.type === 'array') return [def.element];
    return def.type === 'tuple' ? [def.items[segment] ?? def.rest ?? []].flat() : [];
  }
  if (def.type === 'record') return [def.valueType];
  if (def.type !== 'object') return [];
  const own = Object.hasOwn(def.shape, segment) ? def.shape[segment] : def.catchall;
  return own === undefined ? [] : [own];
}

/** The parts of JSON Schema (draft 2020-12) that zod writes and this folder reads. */
export interface SchemaTree {
  type?: string | string[];
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, SchemaTree>;
  required?: string[];
  additionalProperties?: boolean | SchemaTree;
  items?: SchemaTree;
  anyOf?: SchemaTree[];
  oneOf?: SchemaTree[];
  allOf?: SchemaTree[];
  pattern?: string;
  /** Set by `.meta({ secret: true })`: the value is never shown. */
  secret?: boolean;
  [keyword: string]: unknown;
}

/** A zod schema's input side as JSON Schema, which unlike zod's own objects is simple to walk. */
export function schemaTreeOf(schema: z.ZodType): SchemaTree {
  const { $schema: _, ...tree } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return tree as SchemaTree;
}

/** The value at a path of plain data, or undefined. Only own members count. */
export function valueAt(value: unknown, path: readonly PathSegment[]): unknown {
  let at = value;
  for (const segment of path) {
    if (Array.isArray(at) && typeof segment === 'number') at = at[segment];
    else if (isJsonObject(at) && Object.hasOwn(at, segment)) at = at[segment];
    else return undefined;
  }
  return at;
}
