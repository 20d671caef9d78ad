// What the JSON Schemas of this program have in common: they describe its config and its documents.

import { z } from 'zod';
import { canonicalJson, type JsonObject, type JsonValue } from './json.ts';

/** Any JSON. It contains itself, so JSON Schema needs a name for it. */
export const Json: z.ZodType<JsonValue> = z
  .lazy(() => z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(Json), z.record(z.string(), Json)]))
  .meta({ id: 'JsonValue' });

/**
 * Moves the definitions of a schema to a place that all schemas of a document share. A reference begins at the root of the
 * document, so it does not find a definition that stays within the schema of one part.
 *
 * @param at where the document has the definitions, such as `#/$defs`
 * @param definitions gets them by name
 * @returns the schema without definitions
 * @throws an error for a schema that contains itself and has no name (`.meta({ id })`), because each part gives the same
 *   names to those, and for two different schemas with one name
 */
export function shareDefinitions(schema: JsonObject, at: string, definitions: JsonObject): JsonObject {
  const { $defs: own = {}, ...rest } = withReferencesTo(at, schema) as JsonObject;
  for (const [name, definition] of Object.entries(own as JsonObject)) {
    if (name.startsWith('__')) throw new Error('A schema that contains itself needs a name: `.meta({ id })`.');
    const known = definitions[name];
    if (known !== undefined && canonicalJson(known) !== canonicalJson(definition))
      throw new Error(`Two different schemas have the name ${name}.`);
    definitions[name] = definition;
  }
  return rest;
}

/** A copy in which the references lead to the shared definitions. */
function withReferencesTo(at: string, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((one) => withReferencesTo(at, one));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]): [string, JsonValue] => [
    name,
    name === '$ref' && typeof member === 'string' ? member.replace('#/$defs', at) : withReferencesTo(at, member),
  ]);
  return Object.fromEntries(members);
}
