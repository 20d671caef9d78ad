import { actionWords } from '../../../domain/words/actions.ts';
import { type Html, html } from '../../html.ts';
import { card, dataTable, pageHead, pager } from '../../parts.ts';
import { get, type PageContext, type Route, type WebAnswer, type WebRequest } from '../../server/route.ts';
import { timeOf } from '../../shown-values.ts';

const PAGE_ROWS = 100;

/** The page of the audit log. */
export function auditRoutes({ reads }: PageContext): Route[] {
  async function page({ query }: WebRequest): Promise<WebAnswer> {
    const listed = await reads.actions({ limit: PAGE_ROWS, after: query.get('after') ?? undefined });
    const rows = listed.rows.map(({ at, who, via, action, detail, outcome }) => [
      timeOf(at),
      who,
      via,
      html`<span title="${action}">${actionWords(action)}</span>`,
      html`${Object.entries(detail).map(
        ([name, value]) => html`<div><span class="quiet">${name}</span> ${detailText(value)}</div>`,
      )}`,
      outcome ?? html`<span class="quiet">not ended</span>`,
    ]);
    const columns = ['when', 'who', 'by', 'action', 'with', 'outcome'].map((name) => ({ name }));
    const table = dataTable({ caption: 'Actions, the newest first', columns, rows, empty: 'No actions yet.' });
    const body = html`${pageHead('Audit log')}${card(null, [table, pager({ path: '/audit', query, listed })])}`;
    return { type: 'page', title: 'Audit log', at: '/settings', body };
  }

  const fields = { names: ['after'], all: { path: '/audit', name: 'The whole audit log' } };
  return [get('/audit', 'operator', page, { fields })];
}

/** A number from here on is a time in milliseconds since the epoch: counts and ids are smaller. */
const TIMES_FROM = Date.UTC(2020, 0);

function detailText(value: unknown): Html | string | null {
  if (typeof value === 'number' && value >= TIMES_FROM) return timeOf(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
