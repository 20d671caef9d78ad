import type { Cause } from '../../../domain/ports/ledger/dashboard-views.ts';
import { type Html, html } from '../../html.ts';
import { card, confirmForm, emptyState, filterForm, pageHead, SHOWN, shownMark } from '../../parts.ts';
import { counted, stateBadge, timeOf } from '../../shown-values.ts';
import { causePath } from '../links.ts';
import { CAUSE_TYPES, effectText, placeText } from './causes.ts';

export interface InboxView {
  causes: readonly Cause[];
  sources: readonly string[];
  /** BOM items of adopted products. A person has to say whether the platform has them. */
  parts: { products: number; bomItems: number };
  filter: { source: string; type: string };
  mayDecide: boolean;
}

/** The page with all items and rows that need a person, grouped by cause, the largest group first. */
export function inboxPage(view: InboxView, request: { csrf: string }): Html {
  const { causes, filter, sources } = view;
  const types = Object.entries(CAUSE_TYPES).map(([value, { name }]) => ({ value, name }));
  const fields = [
    {
      type: 'select' as const,
      name: 'type',
      label: 'Kind',
      value: filter.type,
      options: [{ value: '', name: 'All kinds' }, ...types],
    },
    {
      type: 'select' as const,
      name: 'source',
      label: 'Source',
      value: filter.source,
      options: [{ value: '', name: 'All sources' }, ...sources.map((value) => ({ value, name: value }))],
    },
  ];
  const isFiltered = filter.source !== '' || filter.type !== '';
  const nothing = isFiltered ? 'Nothing of this kind needs a person.' : 'Nothing needs a person.';
  const list =
    causes.length === 0 ? card(null, emptyState(nothing)) : html`<ul class="causes">${causes.map(causeEntry)}</ul>`;
  const values = html`<a class="button plain" href="/attention/lookup-values">Values of lookup tables</a>`;
  return html`${pageHead('Needs attention', { lead: leadText(causes), actions: values })}
${filterForm({ action: '/attention', fields })}${partsCard(view, request)}${list}`;
}

function leadText(causes: readonly Cause[]): string {
  if (causes.length === 0) return 'This page lists what needs a person, grouped by cause.';
  return `${counted(causes.length, 'cause')}, the largest first. Correct the cause, and replay the whole group.`;
}

function causeEntry(cause: Cause): Html {
  const { id, title, type, firstSeenAt, note, example, cure } = cause;
  const place = placeText(cause);
  return html`<li class="card cause">
<p class="row"><a class="title" href="${causePath(id)}">${title}</a> ${stateBadge(CAUSE_TYPES[type].badge)}</p>
<p><b>${effectText(cause)}</b>${place === '' ? null : html` of <span class="mono">${place}</span>`}.${
    firstSeenAt === null ? null : html` First seen ${timeOf(firstSeenAt)}.`
  }${example === null || example === '' ? null : html` For example <code>${shortened(example)}</code>.`}</p>
${cure === null ? null : html`<p class="quiet">${cure}</p>`}
${note === null ? null : html`<p class="note">${note.owner === '' ? null : html`<b>${note.owner}</b>${note.text === '' ? null : ': '}`}${note.text}</p>`}
</li>`;
}

function shortened(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`;
}

function partsCard({ parts, mayDecide }: InboxView, request: { csrf: string }): Html | null {
  if (parts.bomItems === 0) return null;
  const { bomItems, products } = parts;
  const what = `${counted(bomItems, 'BOM item')} of ${counted(products, 'product')}`;
  const form = (present: boolean) =>
    confirmForm(request, {
      action: '/attention/parts',
      fields: { present: present ? 'yes' : 'no', [SHOWN]: shownMark(parts) },
      button: present ? `They are there: ${what}` : `They are not there: ${what}`,
      text: present
        ? 'They count as delivered, and nothing is sent.'
        : 'dpp-sync creates them at the platform. A BOM item that is already there is then there twice.',
      tone: present ? 'usual' : 'grave',
    });
  return card('Are these BOM items at the platform?', [
    html`<p>${what} were at the platform before dpp-sync. The API cannot list BOM items, so a person has to look.</p>`,
    mayDecide ? html`<div class="row">${form(true)}${form(false)}</div>` : null,
  ]);
}
