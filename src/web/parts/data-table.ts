import { type Html, html } from '../html.ts';

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
