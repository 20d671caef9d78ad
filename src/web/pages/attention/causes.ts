// How pages describe causes.

import { formatPlace } from '../../../domain/issue.ts';
import type { Cause, CauseType, RowInQuarantine } from '../../../domain/ports/ledger/dashboard-views.ts';
import { readableKey } from '../../../domain/record.ts';
import { STATES } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import { counted } from '../../shown-values.ts';
import { attentionPath, causePath, itemPath } from '../links.ts';

const NOUNS: Record<CauseType, string> = {
  quarantine: 'row',
  blocked: 'item',
  rejected: 'item',
  parked: 'item',
  unconfirmed: 'item',
  run: 'run',
};

export const CAUSE_TYPES: Record<CauseType, { name: string; badge: string; means: string }> = {
  quarantine: { name: 'Quarantine', badge: 'quarantined', means: 'Rows that the mapping or a rule does not accept.' },
  blocked: { name: 'Blocked', badge: 'blocked', means: STATES.blocked.meaning },
  rejected: { name: 'Rejected', badge: 'rejected', means: STATES.rejected.meaning },
  parked: { name: 'Parked', badge: 'parked', means: STATES.parked.meaning },
  unconfirmed: {
    name: 'Unconfirmed',
    badge: 'unconfirmed',
    means: STATES.in_doubt.meaning,
  },
  run: { name: 'Failed runs', badge: 'failed', means: 'The source could not be read.' },
};

/** The link to the list of causes without a filter. */
export const ALL_CAUSES = { path: attentionPath(), name: 'Everything that needs attention' };

/** The values of the filter by kind of the list of causes. */
export const CAUSE_TYPE_FILTER = { values: Object.keys(CAUSE_TYPES) as CauseType[], all: ALL_CAUSES };

/** The number of members in words: `9 rows`. */
export function membersText({ type, count }: Cause): string {
  return counted(count, NOUNS[type]);
}

/** The effect of a cause in words: `9 rows, which hold 4 passports`. */
export function effectText(cause: Cause): string {
  const { count, passportsHeld } = cause;
  if (passportsHeld === null || passportsHeld === 0) return membersText(cause);
  return `${membersText(cause)}, which ${count === 1 ? 'holds' : 'hold'} ${counted(passportsHeld, 'passport')}`;
}

/** The source and stream of a cause: `erp/products`. An empty text for a cause that is about no source. */
export function placeText({ source, stream }: Cause): string {
  if (source === null) return '';
  return stream === null || stream === 'default' ? source : `${source}/${stream}`;
}

/** The rows in quarantine that a search has found, as one line above the list of results; null if there are none. */
export function quarantinedLine(rows: readonly RowInQuarantine[]): Html | null {
  if (rows.length === 0) return null;
  const parts = rows.map(({ record: { key, place }, cause, product }, at) => {
    const shown = readableKey(key);
    const name = product === null ? html`${shown}` : html`<a href="${itemPath('product', product)}">${shown}</a>`;
    return html`${at === 0 ? null : '; '}${name} (${formatPlace(place)}), <a href="${causePath(cause.id)}">${cause.title}</a>`;
  });
  return html`<p class="notice warn">In quarantine: ${parts}</p>`;
}
