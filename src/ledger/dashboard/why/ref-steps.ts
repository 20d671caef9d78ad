import type { ItemKind } from '../../../domain/item.ts';
import { formatPlace } from '../../../domain/place.ts';
import type { ItemView, LedgerViews, RefStanding } from '../../../domain/ports/ledger/ledger-views.ts';
import { kindWord } from '../../../domain/words.ts';
import { type DeliverySteps, namedItem } from './delivery-steps.ts';
import type { RowSteps } from './row-steps.ts';
import { about, type Step, step } from './step.ts';

const DEPTH_MAX = 5;
const STEPS_MAX = 20;

/**
 * Makes the step of an item, and the steps of the items that it waits for. Each item is shown once, so that a circle of
 * refs ends.
 */
export function createRefSteps(
  { item }: Pick<LedgerViews, 'item'>,
  { rows, deliveries }: { rows: RowSteps; deliveries: DeliverySteps },
): (of: ItemView, what: string, seen: Set<string>) => Step[] {
  function walk(of: ItemView, what: string, seen: Set<string>, depth: number): Step[] {
    seen.add(nameOf(of.kind, of.key));
    const own = deliveries.of(of, what);
    if (of.state !== 'waiting') return [own];
    const steps = [own];
    for (const ref of of.refs) {
      if (steps.length >= STEPS_MAX) break;
      const target = found(ref);
      if (target !== null && target.remoteId !== null) continue;
      if (target === null) steps.push(...unknownSteps(ref, of));
      else if (seen.has(nameOf(target.kind, target.key))) continue;
      else if (depth === 0) steps.push(deliveries.of(target, namedItem(target)));
      else steps.push(...quarantinedSteps(target), ...walk(target, namedItem(target), seen, depth - 1));
    }
    return steps;
  }

  /** The item to which a ref points. If the ref may be a material or a component, it is the one that has the key. */
  function found({ kind, key, either }: RefStanding): ItemView | null {
    return byKey(kind, key) ?? (either === true ? byKey('material', key) : null);
  }

  /** The item with this key; null if `item` finds another one by its natural key. A ref always names a key. */
  function byKey(kind: ItemKind, key: string): ItemView | null {
    const view = item(kind, key);
    return view?.key === key ? view : null;
  }

  function unknownSteps({ kind, key, either }: RefStanding, { record }: ItemView): Step[] {
    const what = either === true ? 'product or material' : kindWord(kind);
    const [row] = rows.naming(key);
    const from =
      record === null ? '' : `, to which ${record.source}/${record.stream}, ${formatPlace(record.place)} refers`;
    const none = `no usable row gives the ${what} ${key}${from}`;
    if (row === undefined) {
      return [step('stop', none, { cure: 'Add the row to the source, or correct the ref.', ...about(kind, key) })];
    }
    return rows
      .stepsOf(row, `the row of the ${what} ${key}`)
      .map((one) =>
        one.standing === 'ok'
          ? step('stop', none, { record: row.id, ...about(kind, key) })
          : { ...one, ...about(kind, key) },
      );
  }

  /** The steps for an item whose own row is in quarantine: that row has to be corrected. */
  function quarantinedSteps({ kind, key, record }: ItemView): Step[] {
    if ((record?.quarantined ?? null) === null) return [];
    return [step('unknown', `the row of the ${kindWord(kind)} ${key} is in quarantine now`, about(kind, key))];
  }

  return (of, what, seen) => walk(of, what, seen, DEPTH_MAX);
}

function nameOf(kind: string, key: string): string {
  return `${kind} ${key}`;
}
