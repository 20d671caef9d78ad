import { fault } from '../domain/faults.ts';
import type { ItemKind } from '../domain/item.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import type { Fault } from '../lib/errors.ts';
import { kindWord } from './words.ts';

/** Tells that the ledger has no such item, and what was perhaps meant. `views` is null where there is no ledger. */
export function unknownItem(kind: ItemKind, key: string, views: LedgerViews | null): Fault {
  const message = `There is no ${kindWord(kind)} "${key}" in the ledger.`;
  const near = views?.items({ kind, search: key, afterId: 0, limit: 3 }).items.map((item) => item.key) ?? [];
  const suggestion =
    views === null
      ? 'There is no ledger yet: run `dpp-sync sync` first.'
      : near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : `Search with \`dpp-sync items --kind ${kind} --search TEXT\`; quarantined records make no item.`;
  return fault('item.unknown', message, { suggestion });
}
