import { type Html, html } from '../html.ts';

/** A count with separators between the thousands: `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** A count as a link to the list of the counted rows. A zero has no link, because the list would be empty. */
export function countLink(count: number, href: string, unit?: string): Html {
  const text = unit === undefined ? formatCount(count) : `${formatCount(count)} ${unit}`;
  return count === 0 ? html`<span class="zero">${text}</span>` : html`<a class="count" href="${href}">${text}</a>`;
}

/** A count with its noun: `1 record`, `2 records`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
