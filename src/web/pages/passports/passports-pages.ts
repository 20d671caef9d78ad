import {
  PASSPORT_STATES,
  type PassportCounts,
  type PassportState,
  type PassportStatus,
} from '../../../domain/passport.ts';
import type { Listed, PassportRow, RowInQuarantine } from '../../../domain/ports/ledger/dashboard-views.ts';
import { PASSPORTS, stateWord } from '../../../domain/words/states.ts';
import type { JsonValue } from '../../../lib/json.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, csrfField, dataTable, filterForm, pageHead, pager, withCode } from '../../parts.ts';
import { counted, countLink, formatCount, stateBadge, timeOf } from '../../shown-values.ts';
import { quarantinedLine } from '../attention/causes.ts';
import { itemPath, passportsPath } from '../links.ts';

interface PassportsView {
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
          ...PASSPORT_STATES.map((state) => ({ value: state, name: stateWord(state) })),
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
${card(null, [filter, quarantinedLine(quarantined), warning === null ? null : html`<p class="warn">Prepared passports may have to wait: ${withCode(warning)}</p>`, operates && listed.rows.length > 0 ? selection(view, list) : list, pager({ path: '/passports', query, listed })])}`;
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
          html`<span title="${PASSPORTS[state]}">${countLink(count, passportsPath({ ...kept, state }), stateWord(state))}</span> `,
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
  return html`<form method="post" action="/passports/confirm" class="selection">${csrfField({ csrf })}${kept}
<fieldset class="actions wrap"><legend class="unseen">Publish or withdraw</legend>
<label><input type="radio" name="of" value="selected" checked /> the selected ones</label>
<label><input type="radio" name="of" value="filter" /> all ${all} that the filter selects</label>
<button name="status" value="published">Publish…</button> <button name="status" value="unpublished" class="grave">Withdraw…</button>
<span class="quiet">The next page shows what will happen. Nothing is sent before.</span></fieldset>${list}</form>`;
}

/** Selects all rows of the page. It needs the script, so the style sheet hides it without. */
const ALL_ROWS = html`<input type="checkbox" class="all" aria-label="Select all passports of this page" />`;

function table({ listed, query, operates, template }: PassportsView): Html {
  const columns = [
    { name: operates ? html`<span class="pick">${ALL_ROWS} product</span>` : 'product' },
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
  if (reason !== null) return withCode(reason.message);
  if (blockers.length === 0) {
    const why = UNHINDERED[state];
    return why === undefined ? null : html`<span class="quiet">${why}</span>`;
  }
  const more = blockers.length - BLOCKERS_SHOWN;
  return html`${withCode(blockers.slice(0, BLOCKERS_SHOWN).join(' '))}${more > 0 ? html` <a href="${itemPath('product', product)}">${formatCount(more)} more</a>` : null}`;
}

function documents({ state, product, naturalKey, remoteId }: PassportRow, template: string | null): Html | null {
  if (state === 'none' || state === 'incomplete' || remoteId === null) return null;
  const link = state === 'published' ? publicLink(publicUrl(template, { sku: naturalKey, id: remoteId })) : null;
  return html`<a href="${pdfPath(product)}">PDF</a>${link === null ? null : html`<br /><span class="nowrap">${link}</span>`}`;
}

export type WantedStatus = 'published' | 'unpublished';

export interface ConfirmView {
  status: WantedStatus;
  counts: PassportCounts;
  /** Examples of passports that cannot be published, with the reason. */
  examples: readonly {
    product: string;
    naturalKey: string | null;
    state: PassportState;
    blockers: readonly string[];
  }[];
  /** Why even passports of complete products may not be published; null if there is no such reason. */
  warning: string | null;
  /** What keeps everything from being sent now; null if nothing does. */
  hold: string | null;
  /** The hidden fields that name the selection. */
  fields: readonly (readonly [string, string])[];
  csrf: string;
}

/** Whether a request changes a passport in each state. `maybe`: this is only known after its product was checked. */
const EFFECTS: Record<WantedStatus, Record<PassportState, { acts: 'yes' | 'maybe' | 'no'; text: string }>> = {
  published: {
    initialized: { acts: 'yes', text: 'Will be published.' },
    unpublished: { acts: 'yes', text: 'Were withdrawn, and will be published.' },
    none: { acts: 'maybe', text: 'Will be prepared and published if the product is complete.' },
    incomplete: { acts: 'no', text: 'Cannot be published: the product is not complete.' },
    blocked: { acts: 'maybe', text: 'Will be tried again if the product is complete.' },
    published: { acts: 'no', text: 'Nothing: the passport is already public.' },
  },
  unpublished: {
    published: { acts: 'yes', text: 'Will be withdrawn: nobody can see the passport any more.' },
    initialized: { acts: 'maybe', text: 'Not public. The passport stays so until a person publishes it.' },
    unpublished: { acts: 'no', text: 'Nothing: already withdrawn.' },
    none: { acts: 'no', text: 'Nothing: there is no passport.' },
    incomplete: { acts: 'maybe', text: 'Not public. The passport stays so until a person publishes it.' },
    blocked: { acts: 'maybe', text: 'Will be withdrawn if it is public.' },
  },
};

/** The page that explains the effect of publishing or withdrawing before a person confirms it. */
export function confirmPage(view: ConfirmView): Html {
  const { status, counts, fields, csrf } = view;
  const verb = status === 'published' ? 'Publish' : 'Withdraw';
  const count = countOf(counts, status);
  const all = PASSPORT_STATES.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
  const rows = PASSPORT_STATES.flatMap((state) => {
    const here = counts[state] ?? 0;
    return here === 0 ? [] : [[stateBadge(state), formatCount(here), EFFECTS[status][state].text]];
  });
  const form =
    count === 0
      ? html`<p>Nothing would change. <a href="/passports">Back to the passports</a></p>`
      : html`${confirmForm(
          { csrf },
          {
            action: '/passports/change',
            fields: [...fields, ['status', status]],
            button: `${verb} ${counted(count, 'passport')}`,
            tone: status === 'published' ? 'usual' : 'grave',
          },
        )}<p><a href="/passports">Back without changing anything</a></p>`;
  const table = dataTable({
    caption: 'What will happen, by state',
    columns: [{ name: 'state now' }, { name: 'passports', number: true }, { name: 'what happens' }],
    rows,
    empty: 'Nothing is selected.',
  });
  const title = status === 'published' ? 'Publish passports' : 'Withdraw passports';
  return html`${pageHead(title, { lead: `${counted(all, 'passport')} selected. Nothing has been sent yet.` })}
${card('What will happen', [table, view.hold === null ? null : html`<p class="warn">${view.hold}</p>`, status === 'published' && view.warning !== null ? html`<p class="warn">Prepared passports may have to wait as well: ${withCode(view.warning)}</p>` : null])}${examplesCard(view)}${card(null, form)}`;
}

/** How many passports the request may change: all except those that certainly do not change. */
function countOf(counts: PassportCounts, status: WantedStatus): number {
  return PASSPORT_STATES.reduce(
    (sum, state) => sum + (EFFECTS[status][state].acts === 'no' ? 0 : (counts[state] ?? 0)),
    0,
  );
}

function examplesCard({ examples, status, counts }: ConfirmView): Html | null {
  const cannot = counts.incomplete ?? 0;
  if (status !== 'published' || examples.length === 0) return null;
  const title = `Why ${counted(cannot, 'passport')} cannot be published`;
  return card(title, [
    dataTable({
      caption: title,
      columns: [{ name: 'product' }, { name: 'state' }, { name: 'why' }],
      rows: examples.map(({ product, naturalKey, state, blockers }) => [
        html`<a href="${itemPath('product', product)}">${naturalKey ?? product}</a>`,
        stateBadge(state),
        blockers.join(' '),
      ]),
    }),
    cannot > examples.length
      ? html`<p class="quiet">These are the first ${examples.length} of ${formatCount(cannot)}.</p>`
      : null,
  ]);
}

interface PassportAt {
  product: string;
  naturalKey: string | null;
  remoteId: JsonValue;
  /** The status that the API has acknowledged. */
  acknowledged: PassportStatus | null;
}

/** Links to the public page and the PDF, and for an operator the forms to publish or withdraw. */
export function passportActions(
  { product, naturalKey, remoteId, acknowledged }: PassportAt,
  { csrf, operates, template }: { csrf: string; operates: boolean; template: string | null },
): Html {
  const isPublic = acknowledged === 'published';
  const link = isPublic ? publicLink(publicUrl(template, { sku: naturalKey, id: remoteId })) : null;
  const pdf = acknowledged === null || remoteId === null ? null : html`<a href="${pdfPath(product)}">PDF</a>`;
  const status = isPublic ? 'unpublished' : 'published';
  const act = operates
    ? html`<form method="post" action="/passports/confirm">${csrfField({ csrf })}<input type="hidden" name="product" value="${product}" /><button name="status" value="${status}" class="${isPublic ? 'grave' : ''}">${isPublic ? 'Withdraw…' : 'Publish…'}</button></form>`
    : null;
  return html`<div class="actions wrap">${link}${pdf}${act}</div>`;
}

/** The address of a passport's PDF. The key is in the query, because it may have any character. */
function pdfPath(product: string): string {
  return `/passports/pdf?${new URLSearchParams({ key: product }).toString()}`;
}

/**
 * The address of a public passport by the config's template; null if the template contains a value that is not known
 * yet.
 */
export function publicUrl(template: string | null, { sku, id }: { sku: string | null; id: JsonValue }): string | null {
  if (template === null) return null;
  const values: Record<string, string | null> = {
    sku,
    id: typeof id === 'string' || typeof id === 'number' ? String(id) : null,
  };
  let isKnown = true;
  const url = template.replace(/\{(sku|id)\}/g, (_, name: string) => {
    const value = values[name] ?? null;
    if (value === null) isKnown = false;
    return encodeURIComponent(value ?? '');
  });
  return isKnown ? url : null;
}

/** The link to a public passport. It opens in a new page, which gets no information about this page. */
function publicLink(url: string | null): Html | null {
  return url === null ? null : html`<a href="${url}" target="_blank" rel="noopener noreferrer">Public page</a>`;
}
