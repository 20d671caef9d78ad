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
