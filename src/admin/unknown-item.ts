import { fault } from '../domain/faults.ts';
import type { SubjectKind } from '../domain/item.ts';
import { formatPlace } from '../domain/place.ts';
import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import { kindWord } from '../domain/words.ts';
import type { Fault } from '../lib/errors.ts';
import { shellWord } from '../lib/text/shell-word.ts';
import { suggest } from '../lib/text/suggest.ts';
import { readingsOf } from './pasted-keys.ts';

/**
 * The fault for a key that the ledger does not have, with the quarantined row that contains it, or with similar keys if
 * there is none.
 *
 * @param views null if there is no ledger yet
 */
export function unknownItem(kind: SubjectKind, key: string, views: LedgerViews | null): Fault {
  const message = `There is no ${kindWord(kind)} "${key}" in the ledger`;
  const held = views === null ? null : quarantinedRow(key, views);
  if (held !== null) {
    const { name, source, stream, place } = held;
    const where = `${source}/${stream}, ${formatPlace(place)}`;
    const command =
      kind === 'product' || kind === 'passport' ? `why ${shellWord(name)}` : `quarantine --source ${source}`;
    return fault('item.unknown', `${message}: its row is in quarantine (${where}).`, {
      suggestion: `What is wrong with the row: \`dpp-sync ${command}\`.`,
    });
  }
  const near = views === null ? [] : keysNear(kind, key, views);
  const suggestion =
    views === null
      ? 'There is no ledger yet: run `dpp-sync sync` first.'
      : near.length > 0
        ? `Did you mean ${near.join(', ')}?`
        : `Search with \`dpp-sync items --kind ${kind} --search TEXT\`; quarantined records make no item.`;
  return fault('item.unknown', `${message}.`, { suggestion });
}

/** The quarantined row that a printed key names. */
function quarantinedRow(key: string, views: Pick<LedgerViews, 'quarantinedRow'>) {
  for (const name of readingsOf(key)) {
    const row = views.quarantinedRow(name);
    if (row !== null) return { ...row, name };
  }
  return null;
}

const NEAR_MAX = 3;
const CANDIDATES_MAX = 500;

/** Keys and natural keys that contain this text. If there are none, the key that differs from it by a typing error. */
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
