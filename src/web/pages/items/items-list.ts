import type { ItemRow, Listed, RowInQuarantine } from '../../../domain/ports/ledger/dashboard-views.ts';
import { STATES_IN_ORDER } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import { addressWith, card, dataTable, filterForm, pageHead, pager } from '../../parts.ts';
import { counted, KINDS, stateBadge, stateName, timeOf } from '../../shown-values.ts';
import { quarantinedLine } from '../attention/causes.ts';
import { causePath, itemPath, itemsPath, runPath } from '../links.ts';

export interface ItemsView {
  listed: Listed<ItemRow>;
  /** The rows in quarantine that the search has found. */
  quarantined: readonly RowInQuarantine[];
  query: URLSearchParams;
  sources: readonly string[];
}

/** Values of the filter for states that are not states of items. */
const SELECTED = {
  attention: 'needs a person',
  open: 'not delivered yet',
  missing: 'missing from its source',
  incomplete: 'incomplete',
} as const;

/** The page with the list of items, filtered by kind, state, source and search. */
export function itemsPage({ listed, quarantined, query, sources }: ItemsView): Html {
  const value = (name: string): string => query.get(name) ?? '';
  const states = [
    ...Object.entries(SELECTED).map(([state, name]) => ({ value: state, name })),
    ...STATES_IN_ORDER.map((state) => ({ value: state, name: stateName(state) })),
  ];
  const filter = filterForm({
    action: '/items',
    fields: [
      {
        type: 'search',
        name: 'search',
        label: 'Search',
        value: value('search'),
        placeholder: 'key, SKU, code or name',
      },
      {
        type: 'select',
        name: 'kind',
        label: 'Kind',
        value: value('kind'),
        options: [
          { value: '', name: 'all kinds' },
          ...Object.entries(KINDS).map(([kind, { many }]) => ({ value: kind, name: many })),
        ],
      },
      {
        type: 'select',
        name: 'state',
        label: 'State',
        value: value('state'),
        options: [{ value: '', name: 'any state' }, ...states],
      },
      {
        type: 'select',
        name: 'source',
        label: 'Source',
        value: value('source'),
        options: [{ value: '', name: 'all sources' }, ...sources.map((id) => ({ value: id, name: id }))],
      },
    ],
  });
  return html`${pageHead('Items', { lead: lead(listed, query) })}
${card(null, [filter, narrowed(query), quarantinedLine(quarantined), table(listed.rows, query), pager({ path: '/items', query, listed })])}`;
}

const NO_MATCH = 'No item matches the filter.';

function lead({ total: { count, atLeast } }: ItemsView['listed'], query: URLSearchParams): Html {
  if (query.size === 0) return html`${counted(count, 'item')} in the ledger.`;
  if (count === 0) return html`${NO_MATCH} <a href="${itemsPath()}">All items</a>`;
  return html`${atLeast ? 'More than ' : ''}${counted(count, 'item')} selected.`;
}

/** Shows the filters of the address for which the form has no field. */
function narrowed(query: URLSearchParams): Html | null {
  const run = query.get('run') ?? '';
  const cause = query.get('cause') ?? '';
  const without = (name: string): Html =>
    html` <a href="${addressWith('/items', query, { [name]: '', after: '' })}">Remove this filter</a>`;
  if (/^\d+$/.test(run)) {
    return html`<p>Only items that <a href="${runPath(Number(run))}">run ${run}</a> changed.${without('run')}</p>`;
  }
  if (cause !== '') return html`<p>Only items of <a href="${causePath(cause)}">one cause</a>.${without('cause')}</p>`;
  return null;
}

function table(rows: readonly ItemRow[], query: URLSearchParams): Html {
  return dataTable({
    caption: 'Items',
    columns: [
      { name: 'item' },
      { name: 'name' },
      { name: 'kind' },
      { name: 'state' },
      { name: 'why' },
      { name: 'source' },
      { name: 'since' },
    ],
    rows: rows.map(({ kind, key, naturalKey, name, state, missing, released, reason, source, since }) => [
      html`<a href="${itemPath(kind, key)}">${naturalKey ?? key}</a>${naturalKey !== null && naturalKey !== key ? html` <span class="quiet">${key}</span>` : null}`,
      name,
      html`<span class="nowrap">${KINDS[kind].one}</span>`,
      html`${stateBadge(state)}${missing || released ? html` ${stateBadge('missing')}` : null}`,
      reason === null || state === 'delivered' ? null : reason.message,
      source,
      timeOf(since),
    ]),
    empty: query.size === 0 ? 'The ledger has no items yet.' : NO_MATCH,
    isCompact: true,
  });
}
