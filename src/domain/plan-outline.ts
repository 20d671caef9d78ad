// The parts of a plan that a person looks at first. An outline has a bounded size, whatever the plan has.

import type { JsonValue } from '../lib/json.ts';
import type { SubjectKind } from './item.ts';
import { PLANNED_ACTIONS, type PlannedAction, type PlannedItem } from './plan.ts';

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
