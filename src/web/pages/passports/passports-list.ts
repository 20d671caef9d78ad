import type { Listed, PassportRow, RowInQuarantine } from '../../../domain/ports/ledger/dashboard-views.ts';
import { PASSPORT_STATES, type PassportCounts, type PassportState } from '../../../domain/ports/ledger/ledger-views.ts';
import { PASSPORTS } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import { card, csrfField, dataTable, filterForm, pageHead, pager } from '../../parts.ts';
import { countLink, formatCount, stateBadge, stateName, timeOf } from '../../shown-values.ts';
import { quarantinedLine } from '../attention/causes.ts';
import { itemPath, passportsPath } from '../links.ts';
import { pdfPath, publicLink, publicUrl } from './passport-actions.ts';

export interface PassportsView {
  listed: Listed<PassportRow>;
  /** The counts of the filter for passports in any state. */
  counts: PassportCounts;
  /** The rows in quarantine that the search has found. */
  quarantined: readonly RowInQuarantine[];
  /** What may keep even complete products from being published; null if nothing does. */
  warning: string | null;
  query: URLSearchParams;
  sources: readonly string[];
  /** The config's template of public addresses. */
  template: string | null;
  operates: boolean;
  csrf: string;
}

/**
 * The page with the list of passports, filtered by state, source and search. Each one has the reasons why it is not
 * published.
 */
export function passportsPage(view: PassportsView): Html {
  const { listed, counts, quarantined, warning, query, sources, operates } = view;
  const value = (name: string): string => query.get(name) ?? '';
  const filter = filterForm({
    action: '/passports',
    fields: [
      { type: 'search', name: 'search', label: 'Search', value: value('search'), placeholder: 'SKU, key or name' },
      {
        type: 'select',
        name: 'state',
        label: 'State',
        value: value('state'),
        options: [
          { value: '', name: 'any state' },
          ...PASSPORT_STATES.map((state) => ({ value: state, name: stateName(state) })),
        ],
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
  const list = table(view);
  return html`${pageHead('Passports', { lead: countsLine(counts, query) })}
${card(null, [filter, quarantinedLine(quarantined), warning === null ? null : html`<p class="warn">Initialised passports may have to wait: ${warning}</p>`, operates && listed.rows.length > 0 ? selection(view, list) : list, pager({ path: '/passports', query, listed })])}`;
}

const NO_MATCH = 'No passport matches the filter.';
const NONE = 'There are no passports.';

/** How many passports there are in each state, each with the link to its list. */
function countsLine(counts: PassportCounts, query: URLSearchParams): Html {
  const kept = { search: query.get('search'), source: query.get('source') };
  const parts = PASSPORT_STATES.flatMap((state) => {
    const count = counts[state] ?? 0;
    return count === 0
      ? []
      : [
          html`<span title="${PASSPORTS[state]}">${countLink(count, passportsPath({ ...kept, state }), stateName(state))}</span> `,
        ];
  });
  if (parts.length > 0) return html`<span class="counts">${parts}</span>`;
  return kept.search || kept.source ? html`${NO_MATCH} <a href="${passportsPath()}">All passports</a>` : html`${NONE}`;
}

/**
 * One form around the list. It applies to the passports that are selected on the page, or to all that the filter
 * selects.
 */
function selection({ listed, query, csrf }: PassportsView, list: Html): Html {
  const kept = ['search', 'state', 'source'].flatMap((name) => {
    const value = query.get(name) ?? '';
    return value === '' ? [] : [html`<input type="hidden" name="${name}" value="${value}" />`];
  });
  const { count, atLeast } = listed.total;
  const all = `${atLeast ? 'more than ' : ''}${formatCount(count)}`;
  return html`<form method="post" action="/passports/confirm" class="selection">${csrfField({ csrf })}${kept}${list}
<fieldset class="actions wrap"><legend class="unseen">Publish or withdraw</legend>
<label><input type="radio" name="of" value="selected" checked /> the selected ones</label>
<label><input type="radio" name="of" value="filter" /> all ${all} that the filter selects</label>
<button name="status" value="published">Publish…</button> <button name="status" value="unpublished" class="grave">Withdraw…</button>
<span class="quiet">The next page shows what will happen. Nothing is sent before.</span></fieldset></form>`;
}

function table({ listed, query, operates, template }: PassportsView): Html {
  const columns = [
    { name: 'product' },
    { name: 'name' },
    { name: 'state' },
    { name: 'why not published' },
    { name: 'source' },
    { name: 'since' },
    { name: 'documents' },
  ];
  const rows = listed.rows.map((row) => {
    const { product, naturalKey, name, state, source, since } = row;
    const link = html`<a href="${itemPath('product', product)}">${naturalKey ?? product}</a>`;
    const named = operates
      ? html`<span class="pick"><input type="checkbox" name="product" value="${product}" aria-label="Select ${naturalKey ?? product}" /> ${link}</span>`
      : link;
    return [named, name, stateBadge(state), whyNot(row), source, timeOf(since), documents(row, template)];
  });
  return dataTable({ caption: 'Passports', columns, rows, empty: query.size === 0 ? NONE : NO_MATCH, isCompact: true });
}

/** The most blockers that the list names; the product's page has all of them. */
const BLOCKERS_SHOWN = 2;

/** The texts for passports that are not published although they have no blockers. */
const UNHINDERED: Partial<Record<PassportState, string>> = {
  initialized: 'Nobody has published the passport yet.',
  unpublished: 'The passport was withdrawn.',
};

function whyNot({ state, reason, blockers, product }: PassportRow): Html | null {
  if (state === 'published') return null;
  if (reason !== null) return html`${reason.message}`;
  if (blockers.length === 0) {
    const why = UNHINDERED[state];
    return why === undefined ? null : html`<span class="quiet">${why}</span>`;
  }
  const more = blockers.length - BLOCKERS_SHOWN;
  return html`${blockers.slice(0, BLOCKERS_SHOWN).join(' ')}${more > 0 ? html` <a href="${itemPath('product', product)}">${formatCount(more)} more</a>` : null}`;
}

function documents({ state, product, naturalKey, remoteId }: PassportRow, template: string | null): Html | null {
  if (state === 'none' || state === 'incomplete' || remoteId === null) return null;
  const link = state === 'published' ? publicLink(publicUrl(template, { sku: naturalKey, id: remoteId })) : null;
  return html`<a href="${pdfPath(product)}">PDF</a>${link === null ? null : html`<br /><span class="nowrap">${link}</span>`}`;
}
