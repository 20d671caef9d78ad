// What writes have changed at the platform, in the words of a plan. The sandbox shows it, so no code of the client decides it.

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type FieldChange, PLANNED_WRITES, type PlannedItem } from '../../../src/domain/plan.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';
import type { OrganizationSnapshot } from '../../../src/sandbox/control/inspection.ts';
import { textOf } from '../connectors/connector-reader.ts';
import type { World } from '../worlds/world.ts';

/** One write: `action kind name`, and the fields that it changes. */
export interface Effect {
  write: string;
  fields: Record<string, FieldChange>;
}

const KINDS = [
  ['product', 'products'],
  ['material', 'materials'],
  ['bom_item', 'bomItems'],
] as const;
const STEPS: Readonly<Record<string, string>> = {
  'passport.init': 'prepare',
  'passport.publish': 'publish',
  'passport.unpublish': 'unpublish',
};
const UPDATES: ReadonlySet<string> = new Set(['product.import', 'material.update']);
/** What the platform adds. */
const NOT_SENT: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', 'product', 'material', 'component']);
const NO_FIELDS = {};

/**
 * Returns a function that gives the writes since its last call, or since the beginning.
 *
 * @param repeats whether an update may be sent more than once, because its answer was lost
 */
export function watchPlatform(world: World): (options?: { repeats?: boolean }) => Effect[] {
  let contents = world.contents();
  let counted = writeCounts(world);
  return ({ repeats = false } = {}) => {
    const before = { contents, counted };
    contents = world.contents();
    counted = writeCounts(world);
    const now = contents;
    const items = KINDS.flatMap(([kind, list]) => {
      const known = new Map(before.contents[list].map((item) => [item['id'], item]));
      return now[list].flatMap((item) => itemEffects(kind, nameIn(now, kind, item), known.get(item['id']), item));
    });
    const added = [...counted].flatMap(([key, { operation, name, count }]) => {
      const more = count - (before.counted.get(key)?.count ?? 0);
      const times = repeats && UPDATES.has(operation) ? Math.min(more, 1) : more;
      return Array.from({ length: times }, () => ({ operation, name }));
    });
    const steps = added.flatMap(({ operation, name }) => {
      const step = STEPS[operation];
      return step === undefined ? [] : [{ write: `${step} passport ${name}`, fields: NO_FIELDS }];
    });
    const effects = [...items, ...steps];
    // A write without an effect is one too many.
    if (added.length !== effects.length) {
      throw new Error(`${added.length} writes have ${effects.length} effects: ${JSON.stringify({ added, effects })}`);
    }
    return sorted(effects);
  };
}

/** A function from kind and key of an item to its name at the platform. */
export type NameOf = (kind: string, key: string) => string;

/** The writes of a plan, in the same form. Names are those of the platform. */
export function plannedEffects(items: readonly PlannedItem[], nameOf: NameOf): Effect[] {
  const writes = items.filter(({ action }) => PLANNED_WRITES.includes(action));
  return sorted(writes.map((item) => plannedEffect(item, nameOf)));
}

/** A write of a plan, in the same form. */
export function plannedEffect(
  { action, kind, key, naturalKey, fields, refs = [] }: PlannedItem,
  nameOf: NameOf,
): Effect {
  // Where a change of the natural key is blocked, the platform still has the former one.
  function nameOfItem(): string {
    if (kind === 'passport') return nameOf('product', key);
    if (kind !== 'bom_item') return naturalKey ?? key;
    const product = refs.find(({ role }) => role === 'product');
    const part = refs.find(({ role }) => role !== 'product');
    return `${nameOf('product', product?.key ?? '')} > ${nameOf(part?.kind ?? '', part?.key ?? '')}`;
  }
  const isCreate = action === 'create' || action === 'create_or_adopt';
  return {
    write: `${isCreate ? 'create' : action} ${kind} ${nameOfItem()}`,
    fields: kind === 'passport' ? NO_FIELDS : { ...(isCreate && kind === 'product' ? DEFAULTS : NO_FIELDS), ...fields },
  };
}

/** What the platform sets where a create says nothing. */
const DEFAULTS = { status: { new: 'DRAFT' } };

/**
 * The names at the platform of the items that a ledger has delivered, read without the code under test. The name of another item
 * is its natural key.
 */
export function namesIn(world: World): NameOf {
  const db = new Database(join(world.folder, 'data/ledger.db'), { readonly: true });
  try {
    const contents = world.contents();
    const rows = db
      .prepare<[], { kind: string; key: string; name: string | null; id: string | null }>(
        'SELECT kind, key, natural_key AS name, remote_id AS id FROM items',
      )
      .all();
    const known = new Map(rows.map(({ kind, key, name, id }) => [`${kind} ${key}`, { name, id: idOf(id) }]));
    return (kind, key) => {
      const list = KINDS.find(([name]) => name === kind)?.[1] ?? 'products';
      const { name = null, id = null } = known.get(`${kind} ${key}`) ?? {};
      const item = contents[list].find((one) => one['id'] === id);
      return item === undefined ? (name ?? `unknown ${kind} ${key}`) : nameIn(contents, kind, item);
    };
  } finally {
    db.close();
  }
}

const idOf = (text: string | null): JsonValue => (text === null ? null : (JSON.parse(text) as JsonValue));

function itemEffects(kind: string, name: string, was: JsonObject | undefined, is: JsonObject): Effect[] {
  const fields: Record<string, FieldChange> = {};
  for (const field of Object.keys(is).toSorted()) {
    if (NOT_SENT.has(field)) continue;
    const [before, after] = [withoutNulls(was?.[field]), withoutNulls(is[field])];
    if (JSON.stringify(before) === JSON.stringify(after)) continue;
    fields[field] = { ...(before === null ? {} : { old: before }), ...(after === null ? {} : { new: after }) };
  }
  if (was === undefined) return [{ write: `create ${kind} ${name}`, fields }];
  return was['updated_at'] === is['updated_at'] ? [] : [{ write: `update ${kind} ${name}`, fields }];
}

function nameIn(contents: OrganizationSnapshot, kind: string, item: JsonObject): string {
  const named = (list: readonly JsonObject[], id: unknown): JsonObject | undefined =>
    list.find((one) => one['id'] === id);
  if (kind === 'product') return textOf(item['sku']);
  if (kind === 'material') return textOf(item['code'] ?? item['name']);
  const product = named(contents.products, item['product']);
  const material = named(contents.materials, item['material']);
  const component = named(contents.products, item['component']);
  return `${textOf(product?.['sku'])} > ${textOf(material?.['code'] ?? material?.['name'] ?? component?.['sku'])}`;
}

function writeCounts(world: World): Map<string, { operation: string; name: string; count: number }> {
  const { writes } = world.sandbox.inspect();
  return new Map(
    writes.map(({ operation, naturalKey, count }) => [
      `${operation} ${naturalKey}`,
      { operation, name: naturalKey, count },
    ]),
  );
}

/** The platform shows null for each member that was not sent. */
function withoutNulls(value: JsonValue | undefined): JsonValue {
  if (Array.isArray(value)) return value.map((one) => withoutNulls(one));
  if (value === null || typeof value !== 'object') return value ?? null;
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(members.map(([name, member]) => [name, withoutNulls(member)]));
}

const sorted = (effects: readonly Effect[]): Effect[] =>
  effects.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
