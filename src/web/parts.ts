// The parts of which pages are built: headings, forms, tables, and the links between the pages of a list.

import type { Listed } from '../domain/ports/ledger/dashboard-views.ts';
import { sha256Hex } from '../lib/hash.ts';
import { type Html, html } from './html.ts';
import { formatCount } from './shown-values.ts';

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

/** Marks the parts of a text between backticks as code, because a person types them. */
export function withCode(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))}`;
}

/** A command for a person, on a line of its own; null if there is none. */
export function commandLine(command: string | null): Html | null {
  return command === null ? null : html`<br /><span class="quiet">On the terminal:</span> <code>${command}</code>`;
}

/** The hidden field that each form with `method="post"` needs. */
export function csrfField({ csrf }: { csrf: string }): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}" />`;
}

export interface ConfirmForm {
  action: string;
  /** Hidden fields that name the target of the action. */
  fields?: Record<string, string> | readonly (readonly [string, string])[];
  /** The text of the button, with the count: `Replay 9 records`. */
  button: string;
  /** What will happen, as full sentences. With this text the button is in a section that has to be opened first. */
  text?: Html | string;
  tone?: 'usual' | 'plain' | 'grave';
}

/** A form with one button that acts. If there is a `text`, a first click shows it and a second click acts. */
export function confirmForm(request: { csrf: string }, options: ConfirmForm): Html {
  const { action, fields = [], button, text, tone = 'usual' } = options;
  const entries: readonly (readonly [string, string])[] = isPairs(fields) ? fields : Object.entries(fields);
  const hidden = entries.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`);
  const look = tone === 'usual' ? '' : tone;
  const form = (sentence: Html | string | null) =>
    html`<form class="confirm" method="post" action="${action}">${csrfField(request)}${hidden}${
      sentence === null ? null : html`<p>${sentence}</p>`
    }<button class="${look}">${button}</button></form>`;
  if (text === undefined) return form(null);
  return html`<details class="confirm"><summary class="button ${look}">${button}…</summary>${form(text)}</details>`;
}

function isPairs(
  fields: Record<string, string> | readonly (readonly [string, string])[],
): fields is readonly (readonly [string, string])[] {
  return Array.isArray(fields);
}

/** The field of a form that acts on everything that its page has counted. */
export const SHOWN = 'shown';

const MARK_LENGTH = 16;

/**
 * A mark of the figures that a page has shown. The form of the page sends the mark back, and the route compares it with
 * the mark of the present figures, so that the action is never about something that the person has not seen.
 */
export function shownMark(figures: unknown): string {
  return sha256Hex(JSON.stringify(figures)).slice(0, MARK_LENGTH);
}

export interface Column {
  name: string | Html;
  /** True for a column of numbers, which are aligned to the right. */
  number?: boolean;
}

export interface DataTable {
  /** The caption of the table, for screen readers. */
  caption: string;
  columns: readonly Column[];
  /** The cells of each row; the first one is the row's heading. */
  rows: readonly (readonly (string | number | Html | null)[])[];
  /** What each row is about. With a key, a row of a live page stays the same element when rows before it are removed. */
  keys?: readonly string[];
  /** The text below the caption if there are no rows. */
  empty?: string;
  /** True for a list whose cells need no names of columns. On a narrow screen a row then takes few lines. */
  isCompact?: boolean;
}

/** A table. If the screen is too narrow for it, it becomes a list of its rows. */
export function dataTable({ caption, columns, rows, keys, empty = 'Nothing.', isCompact = false }: DataTable): Html {
  if (rows.length === 0) return emptyState(empty);
  const look = (at: number) => (columns[at]?.number === true ? html` class="number"` : null);
  const heads = columns.map(({ name }, at) => html`<th scope="col"${look(at)}>${name}</th>`);
  // If the screen is too narrow, each row becomes a list of its cells, and each cell needs its name.
  const label = (at: number) => {
    const name = columns[at]?.name;
    return typeof name === 'string' && name !== '' ? html` data-label="${name}"` : null;
  };
  const body = rows.map(
    (cells, row) =>
      html`<tr${keys === undefined ? null : html` data-key="${keys[row] ?? ''}"`}>${cells.map((cell, at) =>
        at === 0 ? html`<th scope="row"${look(at)}>${cell}</th>` : html`<td${look(at)}${label(at)}>${cell}</td>`,
      )}</tr>`,
  );
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table class="stacks${isCompact ? ' compact' : ''}">
<caption class="unseen">${caption}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>${body}</tbody>
</table></div>`;
}

/** The text in place of an empty list. */
export function emptyState(text: string): Html {
  return html`<p class="empty quiet">${text}</p>`;
}

/** Names and their values, one below the other. Entries that are null are left out. */
export function keyValues(entries: readonly (readonly [string, Html | string | number | null])[]): Html {
  const shown = entries.filter(([, value]) => value !== null);
  return html`<dl class="values">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export type FilterField =
  | { type: 'search'; name: string; label: string; value: string; placeholder?: string }
  | {
      type: 'select';
      name: string;
      label: string;
      value: string;
      /** The entry for "all" has an empty value. */
      options: readonly { value: string; name: string }[];
    };

/**
 * A form that filters the list below it. The filter is only in the address, so a person can link to a filtered list. The script of the
 * pages applies a choice of the pointer at once; the button is for texts, for the keyboard, and for browsers without the script.
 */
export function filterForm(options: { action: string; fields: readonly FilterField[] }): Html {
  const { action, fields } = options;
  const controls = fields.map((field) => {
    const id = `filter-${field.name}`;
    return html`<div class="field"><label for="${id}">${field.label}</label>${control(field, id)}</div>`;
  });
  return html`<form class="filter" method="get" action="${action}" role="search" aria-label="The list below">${controls}<button type="submit">Show</button></form>`;
}

function control(field: FilterField, id: string): Html {
  if (field.type === 'search') {
    return html`<input id="${id}" type="search" name="${field.name}" value="${field.value}" placeholder="${field.placeholder ?? ''}" autocomplete="off" />`;
  }
  const entries = field.options.map(
    ({ value, name }) =>
      html`<option value="${value}"${value === field.value ? html` selected` : null}>${name}</option>`,
  );
  return html`<select id="${id}" name="${field.name}">${entries}</select>`;
}

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
export function pager(options: { path: string; query: URLSearchParams; listed: Listed<unknown> }): Html {
  const { path, query, listed } = options;
  const { next, total, rows } = listed;
  const all = total.atLeast ? `more than ${formatCount(total.count)}` : formatCount(total.count);
  const first = query.has('after') ? html`<a href="${addressWith(path, query, { after: '' })}">First page</a>` : null;
  const further =
    next === null ? null : html`<a rel="next" href="${addressWith(path, query, { after: next })}">Next page</a>`;
  return html`<nav class="pager" aria-label="Pages"><span class="quiet">${formatCount(rows.length)} of ${all}</span>${first}${further}</nav>`;
}
