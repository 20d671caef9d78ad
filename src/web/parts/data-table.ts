import { type Html, html } from '../html.ts';

export interface Column {
  name: string | Html;
  /** Numbers stand on the right. */
  number?: boolean;
}

export interface DataTable {
  /** The caption of the table, for screen readers. */
  caption: string;
  columns: readonly Column[];
  /** The cells of each row; the first one is the row's heading. */
  rows: readonly (readonly (string | number | Html | null)[])[];
  /** Shown below the caption where there are no rows. */
  empty?: string;
  /** For a list whose cells explain themselves: a row takes few lines on a narrow screen, without the names of its columns. */
  isCompact?: boolean;
}

/** A table, which becomes a list of its rows where the screen is too narrow for it. */
export function dataTable({ caption, columns, rows, empty = 'Nothing.', isCompact = false }: DataTable): Html {
  if (rows.length === 0) return emptyState(empty);
  const look = (at: number) => (columns[at]?.number === true ? html` class="number"` : null);
  const heads = columns.map(({ name }, at) => html`<th scope="col"${look(at)}>${name}</th>`);
  // Where the screen is too narrow, each row becomes a list of its cells, and each cell needs its name.
  const label = (at: number) => {
    const name = columns[at]?.name;
    return typeof name === 'string' && name !== '' ? html` data-label="${name}"` : null;
  };
  const body = rows.map(
    (cells) =>
      html`<tr>${cells.map((cell, at) =>
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
