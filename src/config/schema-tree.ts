import { z } from 'zod';
import { isJsonObject } from '../lib/json.ts';
import type { PathSegment } from './problem.ts';

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

/** The keys that an object at the path may have. */
export function keysAt(tree: SchemaTree, path: readonly PathSegment[]): string[] {
  let level = [tree];
  for (const segment of path) level = level.flatMap((at) => childrenOf(at, segment));
  return [...new Set(level.flatMap(alternativesOf).flatMap((at) => Object.keys(at.properties ?? {})))];
}

/** Where in the value secrets stand, as far as the schema marks them. */
export function secretPathsIn(tree: SchemaTree, value: unknown, path: readonly PathSegment[] = []): PathSegment[][] {
  if (value === undefined) return [];
  const forms = alternativesOf(tree);
  if (forms.some((form) => form.secret === true)) return [[...path]];
  if (typeof value !== 'object' || value === null) return [];
  const members: [PathSegment, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return members.flatMap(([name, member]) =>
    forms.flatMap((form) => childrenOf(form, name)).flatMap((child) => secretPathsIn(child, member, [...path, name])),
  );
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

function alternativesOf(tree: SchemaTree): SchemaTree[] {
  const inner = [...(tree.anyOf ?? []), ...(tree.oneOf ?? []), ...(tree.allOf ?? [])];
  return [tree, ...inner.flatMap(alternativesOf)];
}

function childrenOf(tree: SchemaTree, segment: PathSegment): SchemaTree[] {
  return alternativesOf(tree).flatMap((form) => {
    if (typeof segment === 'number') return form.items ? [form.items] : [];
    const own = form.properties && Object.hasOwn(form.properties, segment) ? form.properties[segment] : undefined;
    if (own) return [own];
    return typeof form.additionalProperties === 'object' ? [form.additionalProperties] : [];
  });
}
