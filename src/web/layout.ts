import { type Html, html } from './html.ts';
import type { Notice, Person } from './server/route.ts';
import { timeOf } from './shown-values.ts';

/** An entry of the menu. */
export interface MenuEntry {
  path: string;
  name: string;
}

/**
 * The menu of all pages. The server leaves out the entries that have no page, or that the person has no right to open.
 */
export const MENU: readonly MenuEntry[] = [
  { path: '/', name: 'Overview' },
  { path: '/attention', name: 'Needs attention' },
  { path: '/items', name: 'Items' },
  { path: '/passports', name: 'Passports' },
  { path: '/runs', name: 'Runs' },
  { path: '/history', name: 'History' },
  { path: '/tasks', name: 'Tasks' },
  { path: '/queues', name: 'Queues' },
  { path: '/settings', name: 'Settings' },
];

export interface LayoutOptions {
  title: string;
  body: Html;
  /** The path of the menu's entry that is marked. */
  at: string;
  menu: readonly MenuEntry[];
  /** Null on the page to log in. */
  person: Person | null;
  csrf: string;
  notice: Notice | null;
  /** The time of the figures, in milliseconds since the epoch. */
  now: number;
}

/** A whole page. */
export function layout(options: LayoutOptions): string {
  const { title, body } = options;
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="robots" content="noindex" />
    <meta name="color-scheme" content="light dark" />
    <title>${title === 'dpp-sync' ? title : `${title} · dpp-sync`}</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/assets/style.css" />
    ${SCRIPT}
  </head>
  <body>
    <a class="skip" href="#main">Skip to the content</a>
    ${header(options)}
    <main id="main" tabindex="-1"><p id="lost" class="notice bad" role="alert" hidden></p>${noticeOf(options.notice)}${body}</main>
    <footer class="quiet">${options.person === null ? null : html`<span id="as-of">As of ${timeOf(options.now)}.</span> <span data-zone></span>`}</footer>
  </body>
</html>`.markup;
}

/**
 * The tag is built from pieces, because a whole closing tag of a script in a template would make the bundler import a
 * helper.
 */
const SCRIPT = html`<${'script'} src="/assets/live.js" defer></${'script'}>`;

/** A search from every page. It finds items, and rows in quarantine that make them. */
const FIND = html`<form class="find" method="get" action="/items" role="search" aria-label="All items"><input type="search" name="search" aria-label="Search all items by key, SKU or name" placeholder="Search items" autocomplete="off" /></form>`;

function header({ menu, at, person, csrf }: LayoutOptions): Html {
  if (person === null) return html`<header class="top"><a class="brand" href="/">dpp-sync</a></header>`;
  const links = menu.map(
    ({ path, name }) => html`<li><a href="${path}"${path === at ? html` aria-current="page"` : null}>${name}</a></li>`,
  );
  const out =
    person.by === 'session'
      ? html`<form method="post" action="/logout"><input type="hidden" name="csrf" value="${csrf}" /><button class="link">Log out</button></form>`
      : null;
  return html`<header class="top">
      <a class="brand" href="/">dpp-sync</a>
      <nav aria-label="Main"><ul>${links}</ul></nav>
      ${FIND}
      <div class="who"><span><a href="/account">${person.name}</a> <span class="quiet">(${person.role})</span></span>${out}</div>
    </header>`;
}

function noticeOf(notice: Notice | null): Html {
  const content = notice === null ? null : html`<p class="notice ${notice.tone}">${notice.text}</p>`;
  // The region is on each page, so that screen readers read out a text that appears in it.
  return html`<div role="status">${content}</div>`;
}
