import { fault } from '../domain/faults.ts';
import type { SubjectKind } from '../domain/item.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import { kindWord } from '../domain/words.ts';
import type { Fault } from '../lib/errors.ts';

/**
 * What to say of a key that the ledger does not have, with those that it may have meant.
 *
 * @param views null where there is no ledger yet
 */
export function unknownItem(kind: SubjectKind, key: string, views: LedgerViews | null): Fault {
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
