import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { type Answer, NOT_FOUND, type Operation, textMember } from '../api/operation.ts';
import { COLUMNS, type Collection, type Columns, type Entity, materialKey, present } from '../items/collection.ts';
import { cas, country, flag, fraction, group, list, text } from '../items/fields.ts';
import type { IdScheme } from '../items/ids.ts';
import { type Duplicates, duplicate, validate } from '../items/validation.ts';

const Substance = group({ name: text(500), cas: cas().nullable().default(null), mass_fraction: fraction() });

const MaterialCreation = z.strictObject({
  code: text(255).nullish(),
  name: text(500),
  description: text(10_000).nullish(),
  category: text(255).nullish(),
  origin_country: country().nullish(),
  recycled_mass_fraction: fraction().nullish(),
  hazardous: flag().nullish(),
  composition: list(Substance, 200).nullish(),
});

/** Every field may be left out, and null clears a field; only the name cannot be cleared. */
const MaterialPatch = MaterialCreation.partial();

const UNSET = {
  code: null,
  description: null,
  category: null,
  origin_country: null,
  recycled_mass_fraction: null,
  hazardous: null,
  composition: null,
};

/**
 * POST /api/materials/. A code is unique within its organisation; among materials without a code, the name is unique.
 */
export function createMaterialCreation(materials: Collection, duplicates: Duplicates): Operation {
  return {
    accepts: MaterialCreation,
    naturalKey: ({ body }) => textMember(body, 'code') ?? textMember(body, 'name'),
    execute({ organizationId, body, now }): Answer {
      const parsed = validate(MaterialCreation, body);
      if (!parsed.ok) return parsed.error;
      const fields = { ...UNSET, ...parsed.value } as JsonObject;
      const columns = columnsOf(fields);
      const clash = duplicates.taken ? undefined : clashOf({ materials, duplicates }, organizationId, columns);
      if (clash) return clash;
      return { status: 201, body: present(materials.insert(organizationId, { columns, fields, now })) };
    },
  };
}

/** PATCH /api/materials/{id}/. Fields that the body does not name keep their values. */
export function createMaterialUpdate(materials: Collection, ids: IdScheme, duplicates: Duplicates): Operation {
  const find = (organizationId: number, idText: string | undefined): Entity | undefined => {
    const id = ids.fromPath(idText ?? '');
    return id === null ? undefined : materials.get(organizationId, id);
  };
  return {
    accepts: MaterialPatch,
    naturalKey({ organizationId, params }) {
      const material = find(organizationId, params.id);
      return material && materialKey(material);
    },
    execute({ organizationId, params, body, now }): Answer {
      const material = find(organizationId, params.id);
      if (!material) return NOT_FOUND;
      const parsed = validate(MaterialPatch, body);
      if (!parsed.ok) return parsed.error;
      const fields = { ...material.fields, ...parsed.value } as JsonObject;
      const columns = columnsOf(fields);
      const clash = clashOf({ materials, duplicates }, organizationId, columns, material);
      if (clash) return clash;
      return { status: 200, body: present(materials.update(material, { columns, fields, now })) };
    },
  };
}

function columnsOf(fields: JsonObject): Columns {
  const code = textMember(fields, 'code') ?? null;
  return { code, uncoded_name: code === null ? (textMember(fields, 'name') ?? null) : null };
}

function clashOf(
  { materials, duplicates }: { materials: Collection; duplicates: Duplicates },
  organizationId: number,
  columns: Columns,
  itself?: Entity,
): Answer | undefined {
  for (const column of COLUMNS.material) {
    const value = columns[column];
    const other = typeof value === 'string' ? materials.find(organizationId, column, value) : undefined;
    if (!other || other.rowId === itself?.rowId) continue;
    return duplicate('material', column === 'code' ? 'code' : 'name', duplicates);
  }
  return undefined;
}
