import { fault } from '../domain/faults.ts';
import type { SubjectKind } from '../domain/item.ts';
import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import { kindWord } from '../domain/words.ts';
import type { Fault } from '../lib/errors.ts';
import { suggest } from '../lib/text/suggest.ts';

/**
 * The fault for a key that the ledger does not have, with similar keys.
 *
 * @param views null where there is no ledger yet
 */
export function unknownItem(kind: SubjectKind, key: string, views: LedgerViews | null): Fault {
  const message = `There is no ${kindWord(kind)} "${key}" in the ledger.`;
  const near = views === null ? [] : keysNear(kind, key, views);
  const suggestion =
    views === null
      ? 'There is no ledger yet: run `dpp-sync sync` first.'
      : near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : `Search with \`dpp-sync items --kind ${kind} --search TEXT\`; quarantined records make no item.`;
  return fault('item.unknown', message, { suggestion });
}

const NEAR_MAX = 3;
const CANDIDATES_MAX = 500;

/** Keys and natural keys that contain this text, or else the one that differs from it by a typing error. */
function keysNear(kind: SubjectKind, key: string, views: Pick<LedgerViews, 'items'>): string[] {
  const { items } = views.items({ kind, search: key, afterId: 0, limit: NEAR_MAX });
  if (items.length > 0) return items.map((item) => item.key);
  const start = key.slice(0, Math.ceil(key.length / 2));
  const candidates = views.items({ kind, search: start, afterId: 0, limit: CANDIDATES_MAX }).items;
  const meant = suggest(
    key,
    candidates.flatMap((item) => (item.naturalKey === null ? [item.key] : [item.key, item.naturalKey])),
  );
  return meant === undefined ? [] : [meant];
}
