import type { Listed } from '../../domain/ports/ledger/dashboard-views.ts';
import { type Html, html } from '../html.ts';
import { formatCount } from './count-link.ts';

/** The address of a list with some of its fields changed. An empty value removes the field. */
export function addressWith(path: string, query: URLSearchParams, changes: Record<string, string>): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') changed.delete(name);
    else changed.set(name, value);
  }
  const text = changed.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** How many rows there are, and the links to the first and to the next page of a list. */
export function pager(options: {
  path: string;
  query: URLSearchParams;
  listed: Pick<Listed<unknown>, 'rows' | 'next' | 'total'>;
}): Html {
  const { path, query, listed } = options;
  const { next, total, rows } = listed;
  const all = total.atLeast ? `more than ${formatCount(total.count)}` : formatCount(total.count);
  const first = query.has('after') ? html`<a href="${addressWith(path, query, { after: '' })}">First page</a>` : null;
  const further =
    next === null ? null : html`<a rel="next" href="${addressWith(path, query, { after: next })}">Next page</a>`;
  return html`<nav class="pager" aria-label="Pages"><span class="quiet">${formatCount(rows.length)} of ${all}</span>${first}${further}</nav>`;
}
