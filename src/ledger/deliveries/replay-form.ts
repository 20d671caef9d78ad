import type { ItemKind } from '../../domain/item.ts';
import type { FormReplay, FormReplayPage } from '../../domain/ports/replay.ts';
import { ITEM_COLUMNS, type ItemRow, isOpenState } from '../items/item-row.ts';
import { sendInPresentForm } from '../items/reconcile.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

/** How many items one transaction looks at. */
const PAGE = 100;

const inForm = statement<[string, number | null, number], ItemRow>(
  `SELECT ${ITEM_COLUMNS} FROM items
   WHERE acknowledged > 0 AND kind = ? AND form IS ? AND id > ? ORDER BY id LIMIT ${PAGE}`,
);

/**
 * Sends items again that the platform has in another form. Looks at one page of these items, in the order of their
 * forms.
 */
export function replayForm(tx: Tx, { sources, keys, kinds, after, dryRun }: FormReplay): FormReplayPage {
  const page: FormReplayPage = { staged: {}, unsupported: {}, open: {}, next: null };
  const other = tx.forms.others[after.form];
  if (other === undefined) return page;
  const { kind, form } = other;
  const isKind = kinds.includes(kind);
  const rows = kinds.length > 0 && !isKind ? [] : inForm(tx).all(kind, form, after.id);
  const count = (of: Partial<Record<ItemKind, number>>): void => {
    of[kind] = (of[kind] ?? 0) + 1;
  };
  for (const item of rows) {
    const isNamed = keys.includes(item.key) || (item.naturalKey !== null && keys.includes(item.naturalKey));
    if (sources.length > 0 && !sources.includes(item.source)) continue;
    // A person who has ended the write of an item has to name the item.
    if (!isNamed && (keys.length > 0 || item.ignoredHash !== null)) continue;
    if (isOpenState(item.state)) count(page.open);
    else {
      if (!dryRun && (isNamed || isKind || canUpdate(tx, kind))) sendInPresentForm(tx, item.id);
      count(canUpdate(tx, kind) ? page.staged : page.unsupported);
    }
  }
  const last = rows.at(-1);
  page.next = last === undefined ? { form: after.form + 1, id: 0 } : { form: after.form, id: last.id };
  return page;
}

function canUpdate(tx: Tx, kind: ItemKind): boolean {
  return kind === 'material' || (kind === 'product' && tx.profile.productUpdate === 'import');
}
