import type { ItemKind } from '../../domain/item.ts';
import type { FormReplay, FormReplayPage } from '../../domain/ports/replay.ts';
import { ITEM_COLUMNS, type ItemRow, isOpenState } from '../items/item-row.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';

/** How many items one transaction looks at. */
const PAGE = 100;

/**
 * Sends items again that the platform has in another form. Run it as one transaction. Looks at one page of these items,
 * in the order of their forms.
 */
export function createReplayForm(
  { db, profile, forms }: Pick<LedgerContext, 'db' | 'profile' | 'forms'>,
  items: Pick<Items, 'sendInPresentForm'>,
): (request: FormReplay) => FormReplayPage {
  const inForm = db.prepare<[string, number | null, number], ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items
     WHERE acknowledged > 0 AND kind = ? AND form IS ? AND id > ? ORDER BY id LIMIT ${PAGE}`,
  );

  const canUpdate = (kind: ItemKind): boolean =>
    kind === 'material' || (kind === 'product' && profile.productUpdate === 'import');

  return ({ sources, keys, kinds, after, dryRun }) => {
    const page: FormReplayPage = { staged: {}, unsupported: {}, open: {}, next: null };
    const other = forms.others[after.form];
    if (other === undefined) return page;
    const { kind, form } = other;
    const isKind = kinds.includes(kind);
    const rows = kinds.length > 0 && !isKind ? [] : inForm.all(kind, form, after.id);
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
        if (!dryRun && (isNamed || isKind || canUpdate(kind))) items.sendInPresentForm(item.id);
        count(canUpdate(kind) ? page.staged : page.unsupported);
      }
    }
    const last = rows.at(-1);
    page.next = last === undefined ? { form: after.form + 1, id: 0 } : { form: after.form, id: last.id };
    return page;
  };
}
