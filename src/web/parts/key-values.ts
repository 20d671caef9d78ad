import { type Html, html } from '../html.ts';

/** Names and their values, one below the other. Entries that are null are left out. */
export function keyValues(entries: readonly (readonly [string, Html | string | number | null])[]): Html {
  const shown = entries.filter(([, value]) => value !== null);
  return html`<dl class="values">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
