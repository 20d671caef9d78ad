// What a sync would do, item by item.

import { canonicalJson, type JsonObject, type JsonValue, memberOf } from '../lib/json.ts';
import type { Operation } from './delivery/operation.ts';
import type { Reason } from './delivery/stored-reason.ts';
import type { ItemRef, SubjectKind } from './item.ts';

/**
 * What would be done with an item. `create_or_adopt`: only the platform's list shows whether the item is there already, and a
 * sync reads the list first. `differs`: a public passport whose data would change. `blocked`: nothing would be sent, and `state`
 * and `reason` say why.
 */
export const PLANNED_ACTIONS = [
  'create',
  'create_or_adopt',
  'update',
  'prepare',
  'publish',
  'unpublish',
  'differs',
  'blocked',
] as const;
export type PlannedAction = (typeof PLANNED_ACTIONS)[number];

/** The actions that are writes at the platform. */
export const PLANNED_WRITES: readonly PlannedAction[] = PLANNED_ACTIONS.filter(
  (action) => action !== 'differs' && action !== 'blocked',
);

/** A value before and after. A field that is new, or whose value is not known, has no `old`, and one that is no longer there has no `new`. */
export interface FieldChange {
  old?: JsonValue;
  new?: JsonValue;
}

export interface PlannedItem {
  action: PlannedAction;
  kind: SubjectKind;
  key: string;
  naturalKey: string | null;
  source: string | null;
  /** The revision of the write; absent for `differs` and `blocked`. */
  revision?: number;
  /** By the name of the field; for a passport its status. Empty for `differs` and `blocked`. */
  fields: Readonly<Record<string, FieldChange>>;
  /** Only for a BOM item. */
  refs?: readonly ItemRef[];
  /** For a step of a passport that a rule of the platform may refuse. Only the platform knows. */
  gate?: 'unknown';
  /** The state of a blocked item. */
  state?: string;
  reason?: Reason | null;
  /** The items that a waiting item waits for. */
  waitsFor?: readonly ItemRef[];
}

export function actionOf(operation: Operation): PlannedAction {
  if (operation === 'passport.init') return 'prepare';
  if (operation === 'passport.publish') return 'publish';
  if (operation === 'passport.unpublish') return 'unpublish';
  return operation.endsWith('.create') ? 'create' : 'update';
}

/** The fields in which two payloads differ. */
export function fieldChanges(before: JsonObject | null, desired: JsonObject): Record<string, FieldChange> {
  const old = before ?? {};
  const names = [...new Set([...Object.keys(old), ...Object.keys(desired)])].toSorted();
  return Object.fromEntries(
    names.flatMap((name) => {
      // After a restore the ledger has null for each field, because it does not know what was written since the backup.
      const [was, is] = [memberOf(old, name) ?? undefined, memberOf(desired, name)];
      if (canonicalJson(was ?? null) === canonicalJson(is ?? null)) return [];
      return [[name, { ...(was === undefined ? {} : { old: was }), ...(is === undefined ? {} : { new: is }) }]];
    }),
  );
}

// The parts of a plan that a person looks at first. An outline has a bounded size, whatever the plan has.

/** One field of a planned item. A text is empty for an empty value, and null where there is no value or it is not known. */
export interface OutlinedField {
  name: string;
  old: string | null;
  new: string | null;
}

export interface OutlinedItem {
  kind: SubjectKind;
  /** Null for a key that is too long to be shown. */
  key: string | null;
  /** The natural key, or else the key. It may be shortened. */
  name: string;
  fields: OutlinedField[];
  /** How many further fields the item has. */
  otherFields: number;
  /** Why nothing would be sent; null for a write. */
  why: string | null;
}

export interface OutlinedAction {
  action: PlannedAction;
  count: number;
  /** The first items of the plan with this action. */
  first: OutlinedItem[];
}

/** The actions that a plan has, in the order of `PLANNED_ACTIONS`. */
export type PlanOutline = OutlinedAction[];

const ITEMS_MAX = 50;
const FIELDS_MAX = 12;
const TEXT_MAX = 160;
const KEY_MAX = 1000;

export function createPlanOutline() {
  const actions = new Map<PlannedAction, OutlinedAction>();
  return {
    add(item: PlannedItem): void {
      const { action } = item;
      const ofAction = actions.get(action) ?? { action, count: 0, first: [] };
      actions.set(action, ofAction);
      ofAction.count += 1;
      if (ofAction.count <= ITEMS_MAX) ofAction.first.push(outlined(item));
    },
    outline: (): PlanOutline => PLANNED_ACTIONS.flatMap((action) => actions.get(action) ?? []),
  };
}

function outlined({ kind, key, naturalKey, fields, reason }: PlannedItem): OutlinedItem {
  const entries = Object.entries(fields);
  return {
    kind,
    key: key.length <= KEY_MAX ? key : null,
    name: shortened(naturalKey ?? key),
    fields: entries.slice(0, FIELDS_MAX).map(([name, change]) => ({
      name: shortened(name),
      old: change.old === undefined ? null : textOf(change.old),
      new: change.new === undefined ? null : textOf(change.new),
    })),
    otherFields: Math.max(0, entries.length - FIELDS_MAX),
    why: typeof reason?.message === 'string' ? shortened(reason.message) : null,
  };
}

function textOf(value: JsonValue): string {
  if (value === null) return '';
  return shortened(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A short text of its own: a slice of a text would keep all of it in memory (I9). */
function shortened(text: string): string {
  if (text.length <= TEXT_MAX) return text;
  return `${Buffer.from(text.slice(0, TEXT_MAX - 1)).toString()}…`;
}
