import { formatPlace } from '../../../domain/place.ts';
import type { RowInQuarantine } from '../../../domain/ports/ledger/dashboard-views.ts';
import { readableKey } from '../../../domain/record.ts';
import { type Html, html } from '../../html.ts';
import { causePath, itemPath } from '../links.ts';

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
