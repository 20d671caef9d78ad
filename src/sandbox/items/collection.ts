import { randomInt, randomUUID } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { textMember } from '../api/operation.ts';

/** One resource of an organisation. */
export interface Entity {
  /** The row's own number, by which other rows refer to it. */
  rowId: number;
  /** The id that the API shows. */
  id: ResourceId;
  /** The members that the API shows besides the id and the times. */
  fields: JsonObject;
  /** The times in the form of the API: ISO 8601 in UTC. */
  createdAt: string;
  updatedAt: string;
}

/** Values for the columns that make a kind of resource unique or relate it to others. */
export type Columns = Record<string, string | number | null>;

/** The rows of one kind of resource. Every method sees the rows of one organisation only. */
export interface Collection {
  get(organizationId: number, id: ResourceId): Entity | undefined;
  /** The row with this value in a column of this kind. */
  find(organizationId: number, column: string, value: string | number): Entity | undefined;
  /** Every row with this value in a column of this kind, in the order of their creation. */
  all(organizationId: number, column: string, value: string | number): Entity[];
  count(organizationId: number): number;
  /** Rows in the order of their creation. */
  slice(organizationId: number, range: { offset: number; limit: number }): Entity[];
  insert(organizationId: number, row: { columns: Columns; fields: JsonObject; now: number }): Entity;
  update(entity: Entity, row: { columns: Columns; fields: JsonObject; now: number }): Entity;
}

interface Row {
  id: number;
  uuid: string | null;
  fields: string;
  created_at: number;
  updated_at: number;
}

/** Prepares the statements over a table. Rows are never deleted, so ordinals have no gaps. */
export function createCollection(
  database: Database,
  ids: IdScheme,
  { table, columns }: { table: string; columns: readonly string[] },
): Collection {
  const select = `SELECT id, uuid, fields, created_at, updated_at FROM ${table} WHERE organization_id = ?`;
  const get = database.prepare<[number, ResourceId], Row>(`${select} AND ${ids.column} = ?`);
  const finders = new Map(
    columns.map((column) => [
      column,
      database.prepare<[number, string | number], Row>(`${select} AND ${column} = ? ORDER BY ordinal`),
    ]),
  );
  const slice = database.prepare<[number, number, number], Row>(
    `${select} AND ordinal > ? AND ordinal <= ? ORDER BY ordinal`,
  );
  const count = database
    .prepare<[number], number>(`SELECT coalesce(max(ordinal), 0) FROM ${table} WHERE organization_id = ?`)
    .pluck();
  const names = ['uuid', 'organization_id', 'ordinal', 'fields', 'created_at', 'updated_at', ...columns];
  const insert = database.prepare(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `:${name}`).join(', ')})`,
  );
  const assignments = ['fields', 'updated_at', ...columns].map((name) => `${name} = :${name}`);
  const update = database.prepare(`UPDATE ${table} SET ${assignments.join(', ')} WHERE id = :id`);

  const isoOf = createIsoTimes();
  const entityOf = (row: Row): Entity => ({
    rowId: row.id,
    id: ids.column === 'id' ? row.id : (row.uuid ?? ''),
    fields: JSON.parse(row.fields) as JsonObject,
    createdAt: isoOf(row.created_at),
    updatedAt: isoOf(row.updated_at),
  });
  const optional = (row: Row | undefined) => row && entityOf(row);

  return {
    get: (organizationId, id) => optional(get.get(organizationId, id)),
    find: (organizationId, column, value) => optional(finders.get(column)?.get(organizationId, value)),
    all: (organizationId, column, value) =>
      (finders.get(column)?.all(organizationId, value) ?? []).map((row) => entityOf(row)),
    count: (organizationId) => count.get(organizationId) ?? 0,
    slice: (organizationId, { offset, limit }) =>
      slice.all(organizationId, offset, offset + limit).map((row) => entityOf(row)),
    insert(organizationId, { columns: values, fields, now }) {
      const uuid = ids.freshUuid();
      const { lastInsertRowid } = insert.run({
        uuid,
        organization_id: organizationId,
        ordinal: (count.get(organizationId) ?? 0) + 1,
        fields: JSON.stringify(fields),
        created_at: now,
        updated_at: now,
        ...values,
      });
      const rowId = Number(lastInsertRowid);
      const at = isoOf(now);
      return { rowId, id: uuid ?? rowId, fields, createdAt: at, updatedAt: at };
    },
    update(entity, { columns: values, fields, now }) {
      update.run({ id: entity.rowId, fields: JSON.stringify(fields), updated_at: now, ...values });
      return { ...entity, fields, updatedAt: isoOf(now) };
    },
  };
}

/**
 * Formats times like the API. The last text is kept, because many requests come within one millisecond and formatting a
 * date takes long.
 */
function createIsoTimes(): (at: number) => string {
  let last = { at: Number.NaN, text: '' };
  return (at) => {
    if (last.at !== at) last = { at, text: new Date(at).toISOString() };
    return last.text;
  };
}

/** The whole object in the form of the API. */
export function present(entity: Entity): JsonObject {
  const { id, fields, createdAt, updatedAt } = entity;
  return { id, ...fields, created_at: createdAt, updated_at: updatedAt };
}

/** The additional columns of each table. Exactly one of the two columns of a material has a value. */
export const COLUMNS = {
  product: ['sku'],
  material: ['code', 'uncoded_name'],
  bom_item: ['product_id', 'material_id', 'component_id'],
  passport: ['product_id'],
  publication: ['product_id', 'sku'],
  report: [],
} as const;

/** The collections that the operations on passports use. */
export interface PassportCollections {
  products: Collection;
  materials: Collection;
  bomItems: Collection;
  passports: Collection;
  publications: Collection;
}

/** The rows of every kind of resource. */
export interface Collections extends PassportCollections {
  reports: Collection;
}

/** The key of a material for people: its code, or its name if it has no code. */
export function materialKey({ fields }: Entity): string {
  return textMember(fields, 'code') ?? textMember(fields, 'name') ?? '';
}

/** A row with the values by which it is found. An update replaces the entity and never changes it. */
interface MemoryRow {
  entity: Entity;
  organizationId: number;
  /** The position among the organisation's rows, from 0. */
  ordinal: number;
  columns: Columns;
}

/**
 * Most values belong to one row. The index then has the row itself and no array, because arrays would take most of its
 * memory.
 */
type Index = Map<string | number, MemoryRow | MemoryRow[]>;

interface OrganizationRows {
  rows: MemoryRow[];
  /** The indexes by column, and then by value. */
  indexes: Map<string, Index>;
}

const NO_ROWS: OrganizationRows = { rows: [], indexes: new Map() };

/** A collection in the memory of the process. It answers a request in a fraction of the time of a table. */
export function createMemoryCollection(ids: IdScheme, { columns }: { columns: readonly string[] }): Collection {
  const byId = new Map<ResourceId, MemoryRow>();
  const byOrganization = new Map<number, OrganizationRows>();
  const isoOf = createIsoTimes();
  let lastRowId = 0;

  const rowsOf = (organizationId: number): OrganizationRows => byOrganization.get(organizationId) ?? NO_ROWS;
  const rowsToFill = (organizationId: number): OrganizationRows => {
    const known = byOrganization.get(organizationId);
    if (known) return known;
    const created = { rows: [], indexes: new Map(columns.map((column) => [column, new Map() as Index])) };
    byOrganization.set(organizationId, created);
    return created;
  };
  const enter = (row: MemoryRow): void => {
    for (const [column, index] of rowsToFill(row.organizationId).indexes) {
      const value = row.columns[column] ?? null;
      if (value === null) continue;
      const entered = index.get(value);
      if (entered === undefined) index.set(value, row);
      else if (Array.isArray(entered)) entered.push(row);
      else index.set(value, [entered, row]);
    }
  };
  const remove = (row: MemoryRow, column: string): void => {
    const index = rowsOf(row.organizationId).indexes.get(column);
    const value = row.columns[column] ?? null;
    if (value === null) return;
    const left = [index?.get(value) ?? []].flat().filter((other) => other !== row);
    if (left.length > 0) index?.set(value, left);
    else index?.delete(value);
  };
  const found = (organizationId: number, column: string, value: string | number): MemoryRow | MemoryRow[] | undefined =>
    rowsOf(organizationId).indexes.get(column)?.get(value);

  return {
    get(organizationId, id) {
      const row = byId.get(id);
      return row?.organizationId === organizationId ? row.entity : undefined;
    },
    find(organizationId, column, value) {
      const rows = found(organizationId, column, value);
      return (Array.isArray(rows) ? rows[0] : rows)?.entity;
    },
    all: (organizationId, column, value) =>
      [found(organizationId, column, value) ?? []]
        .flat()
        .toSorted((a, b) => a.ordinal - b.ordinal)
        .map(({ entity }) => entity),
    count: (organizationId) => rowsOf(organizationId).rows.length,
    slice: (organizationId, { offset, limit }) =>
      rowsOf(organizationId)
        .rows.slice(offset, offset + limit)
        .map(({ entity }) => entity),
    insert(organizationId, { columns: values, fields, now }) {
      lastRowId += 1;
      const id = ids.freshUuid() ?? lastRowId;
      const at = isoOf(now);
      const entity: Entity = { rowId: lastRowId, id, fields, createdAt: at, updatedAt: at };
      const { rows } = rowsToFill(organizationId);
      const row: MemoryRow = { entity, organizationId, ordinal: rows.length, columns: values };
      rows.push(row);
      byId.set(id, row);
      enter(row);
      return entity;
    },
    update(entity, { columns: values, fields, now }) {
      const row = byId.get(entity.id);
      const updated: Entity = { ...entity, fields, updatedAt: isoOf(now) };
      if (!row) return updated;
      const moves = columns.some((column) => (row.columns[column] ?? null) !== (values[column] ?? null));
      if (moves) for (const column of columns) remove(row, column);
      row.entity = updated;
      row.columns = values;
      if (moves) enter(row);
      return updated;
    },
  };
}

/** An id in the form of the API. */
export type ResourceId = number | string;

/** How resources are identified. Rows always have a number. In the column `uuid` they have a UUID or another text, if numbers are not the ids. */
export interface IdScheme {
  /** The column with the id that the API shows. */
  column: 'id' | 'uuid';
  /** The UUID or other text of a new row, null if numbers are the ids. */
  freshUuid(): string | null;
  /** Reads an id from a path; null if the text cannot be an id. */
  fromPath(text: string): ResourceId | null;
  /** Validates an id inside a body. An id of another JSON type is an error even if the text is the same. */
  reference: z.ZodType<ResourceId>;
}

/** Large enough that no two ids of a sandbox are equal. */
const TEXT_ID_MAX = 2 ** 47;

export function createIdScheme(kind: 'numeric' | 'uuid' | 'text'): IdScheme {
  const expected = kind === 'numeric' ? 'number' : 'string';
  const reference = {
    error: ({ input }: { input?: unknown }) => {
      if (input === undefined) return 'This field is required.';
      if (input === null) return 'This field may not be null.';
      if (typeof input !== expected) return `Incorrect type. Expected a ${expected}, received a ${typeof input}.`;
      return Number.isInteger(input) ? 'This integer is out of range.' : 'A valid integer is required.';
    },
  };
  if (kind === 'numeric') {
    return {
      column: 'id',
      freshUuid: () => null,
      fromPath: (text) => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : null),
      reference: z.int(reference),
    };
  }
  if (kind === 'text') {
    return {
      column: 'uuid',
      freshUuid: () => `dpp_${randomInt(TEXT_ID_MAX)}`,
      fromPath: (text) => (/^dpp_\d{1,15}$/.test(text) ? text : null),
      reference: z.string(reference),
    };
  }
  return {
    column: 'uuid',
    freshUuid: () => randomUUID(),
    fromPath: (text) => (z.guid().safeParse(text).success ? text.toLowerCase() : null),
    reference: z.string(reference),
  };
}
