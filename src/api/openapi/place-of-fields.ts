import type { JsonValue } from '../../lib/json.ts';
import type { SchemaReader } from './schema.ts';

/** How deep in a body the fields of an item may be: `data.attributes` has the depth 2. */
const DEPTH_MAX = 2;

/**
 * The dotted path of the object that has one of the fields: '' for the schema itself.
 *
 * @returns null if neither the schema nor an object in it has one of the fields
 */
export function placeOfFields(
  schema: JsonValue | undefined,
  names: readonly string[],
  schemas: SchemaReader,
): string | null {
  let level: { path: string; schema: JsonValue | undefined }[] = [{ path: '', schema }];
  for (let depth = 0; depth <= DEPTH_MAX; depth += 1) {
    const views = level.map((one) => ({ ...one, view: schemas.view(one.schema) }));
    const found = views.find(({ view }) => names.some((name) => view.properties.has(name)));
    if (found !== undefined) return found.path;
    level = views.flatMap(({ path, view }) =>
      [...view.properties].map(([name, property]) => ({
        path: path === '' ? name : `${path}.${name}`,
        schema: property,
      })),
    );
  }
  return null;
}

/** The schema at a place that `placeOfFields` has found. */
export function schemaAt(schema: JsonValue | undefined, path: string, schemas: SchemaReader): JsonValue | undefined {
  return path === '' ? schema : schemas.at(schema, path);
}
