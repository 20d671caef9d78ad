import type { ItemKind } from '../../domain/item.ts';
import type { Profile } from '../../domain/profile.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { templateOf, wireNameOf } from '../encode.ts';
import { listed, type Report } from './difference.ts';
import type { SchemaReader } from './schema.ts';

/** Fields by which the place of all fields in a body is recognised. */
function marksOf(kind: ItemKind, profile: Profile): string[] {
  const names = kind === 'bom_item' ? ['quantity', 'unit'] : profile.naturalKeys[kind];
  return names.map((name) => wireNameOf(profile, kind, name));
}

/**
 * Compares the place of the fields in the body of a write with the profile. Returns the schema of the fields, wherever
 * the document has them, so that their names are compared.
 */
export function checkEnvelope(
  kind: ItemKind,
  schema: JsonValue | undefined,
  { profile, schemas, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): JsonValue | undefined {
  const place = placeOfFields(schema, marksOf(kind, profile), schemas);
  const expected = templateOf(profile, kind)?.places.get('fields') ?? '';
  if (place === null || place === expected) return schemaAt(schema, expected, schemas);
  report({
    path: '',
    what: 'place of the fields in the body',
    found: place === '' ? 'the body itself' : `"${place}"`,
    expected: expected === '' ? 'the body itself' : `"${expected}"`,
    weight: 'breaks',
    setting: `requests.${kind}`,
    value: place === '' ? null : JSON.stringify(templateWith(schema, place.split('.'), schemas)),
  });
  return schemaAt(schema, place, schemas);
}

/** The template of a body with its fields at a place, and beside them the constants of the document. */
function templateWith(schema: JsonValue | undefined, path: readonly string[], schemas: SchemaReader): JsonValue {
  const [name, ...rest] = path;
  if (name === undefined) return '$fields';
  const { properties } = schemas.view(schema);
  const constants = [...properties].flatMap(([other, property]): [string, JsonValue][] => {
    const [only, ...more] = schemas.view(property).values ?? [];
    return other === name || only === undefined || more.length > 0 ? [] : [[other, only]];
  });
  return {
    ...(Object.fromEntries(constants) as JsonObject),
    [name]: templateWith(properties.get(name), rest, schemas),
  };
}

/**
 * Compares the place of the fields in an entry of a list with the profile. Returns the schema of the fields, wherever
 * the document has them.
 */
export function checkEntry(
  kind: 'product' | 'material',
  entry: JsonValue,
  { profile, schemas, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): JsonValue | undefined {
  const marks = marksOf(kind, profile);
  const { entry: set } = profile.list;
  const place = placeOfFields(entry, marks, schemas);
  const isThere = set !== null && marks.some((name) => schemas.at(entry, `${set}.${name}`) !== undefined);
  if (isThere) return schemas.at(entry, set);
  if (place === null || place === '') return entry;
  report({
    path: '',
    what: 'place of the fields in an entry',
    found: `"${place}"`,
    expected: set === null ? 'the entry itself' : listed([set]),
    weight: 'breaks',
    setting: 'list.entry',
    value: place,
  });
  return schemas.at(entry, place);
}

/** How deep in a body the fields of an item may be: `data.attributes` has the depth 2. */
const DEPTH_MAX = 2;

/**
 * The dotted path of the object that has one of the fields: '' for the schema itself.
 *
 * @returns null if neither the schema nor an object in it has one of the fields
 */
function placeOfFields(schema: JsonValue | undefined, names: readonly string[], schemas: SchemaReader): string | null {
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
