import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import type { PathSegment } from '../checks/problem.ts';

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
