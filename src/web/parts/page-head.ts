import { type Html, html } from '../html.ts';

/** The heading of a page. `actions` are shown beside it, for instance a form with a button. */
export function pageHead(
  title: string | Html,
  more: { lead?: Html | string; actions?: Html | readonly Html[] } = {},
): Html {
  const { lead = null, actions = null } = more;
  return html`<div class="head"><h1>${title}</h1>${actions === null ? null : html`<div class="actions">${actions}</div>`}</div>${
    lead === null ? null : html`<p class="lead quiet">${lead}</p>`
  }`;
}

/** A part of a page with its own heading. */
export function card(title: string | Html | null, body: Html | readonly (Html | null)[]): Html {
  return html`<section class="card">${title === null ? null : html`<h2>${title}</h2>`}${body}</section>`;
}
