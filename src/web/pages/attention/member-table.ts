import { cellText } from '../../../daemon/uploads/plan-corrections.ts';
import { columnsAtFault } from '../../../daemon/views/columns-at-fault.ts';
import { formatPlace } from '../../../domain/issue.ts';
import type { Cause, CauseMember, Listed } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { QuarantinedRecord } from '../../../domain/ports/ledger/ledger-views.ts';
import { RAW_FIELD, readableKey } from '../../../domain/record.ts';
import { memberOf } from '../../../lib/json.ts';
import { type Html, html } from '../../html.ts';
import { dataTable, emptyState } from '../../parts.ts';
import { stateBadge, timeOf } from '../../shown-values.ts';
import { itemPath, runPath } from '../links.ts';

type StuckItem = NonNullable<CauseMember['item']>;

const CELL_CHARACTERS = 120;

/** @param controls the controls for one item; null if a person can do nothing */
export function memberTable(
  { rows }: Listed<CauseMember>,
  { type }: Cause,
  controls: (item: StuckItem) => Html | null,
): Html {
  if (rows.length === 0) return emptyState('Nothing is stuck for this cause any more.');
  if (type === 'run') return runTable(rows.flatMap(({ run }) => run ?? []));
  const records = rows.flatMap(({ record }) => record ?? []);
  if (type === 'quarantine') return recordTable(records);
  return itemTable(
    rows.flatMap(({ item }) => item ?? []),
    controls,
  );
}

/** A table of the source's rows. The cells at fault are marked, and their problems are below each row. */
export function recordTable(records: readonly QuarantinedRecord[]): Html {
  const columns = [...new Set(records.flatMap(({ fields }) => Object.keys(fields)))];
  const heads = columns.map((name) => html`<th scope="col">${columnName(name)}</th>`);
  const body = records.map((record) => {
    const wrong = new Set(record.issues.flatMap((issue) => columnsAtFault(record.fields, issue)));
    const cells = columns.map((name) => cell(name, cellText(memberOf(record.fields, name)), wrong.has(name)));
    const issues = record.issues.map(
      ({ message, cure }) =>
        html`<li>${message}${cure === undefined ? null : html` <span class="quiet">${cure}</span>`}</li>`,
    );
    return html`<tr><th scope="row" rowspan="2"><span class="mono">${formatPlace(record.place)}</span><br /><span class="quiet">${readableKey(record.key)}</span></th>${cells}</tr>
<tr class="issues"><td colspan="${Math.max(1, columns.length)}"><ul>${issues}</ul></td></tr>`;
  });
  return html`<div class="scroll" role="region" aria-label="Rows" tabindex="0"><table class="rows stacks">
<caption class="unseen">The rows as the source gave them. Wrong cells are marked.</caption>
<thead><tr><th scope="col">place and key</th>${heads}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function columnName(name: string): string {
  return name === RAW_FIELD ? 'text of the row' : name;
}

function cell(column: string, text: string, isWrong: boolean): Html {
  const shown = text.length > CELL_CHARACTERS ? `${text.slice(0, CELL_CHARACTERS)}…` : text;
  const label = html` data-label="${columnName(column)}"`;
  if (!isWrong) return html`<td${label}>${shown}</td>`;
  const empty = html`<span class="quiet">(empty)</span>`;
  return html`<td class="wrong"${label}><span class="unseen">Wrong: </span>${shown.trim() === '' ? empty : shown}</td>`;
}

function itemTable(items: readonly StuckItem[], controls: (item: StuckItem) => Html | null): Html {
  const rows = items.map((item) => {
    const { kind, key, naturalKey, name, state, reason } = item;
    return [
      html`<a href="${itemPath(kind, key)}">${naturalKey ?? key}</a>${name === null ? null : html`<br /><span class="quiet">${name}</span>`}`,
      stateBadge(state),
      reason.message,
      controls(item),
    ];
  });
  const columns = [
    { name: 'item' },
    { name: 'state' },
    { name: 'why' },
    { name: html`<span class="unseen">what to do</span>` },
  ];
  return dataTable({ caption: 'Items', columns, rows });
}

function runTable(runs: readonly NonNullable<CauseMember['run']>[]): Html {
  const rows = runs.map(({ id, source, startedAt, error }) => [
    html`<a href="${runPath(id)}">Run ${id} of ${source}</a>`,
    timeOf(startedAt),
    error,
  ]);
  return dataTable({ caption: 'Failed runs', columns: [{ name: 'run' }, { name: 'started' }, { name: 'why' }], rows });
}
