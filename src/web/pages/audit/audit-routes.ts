import { namedMembers } from '../../../admin/audit.ts';
import { actionWords } from '../../../domain/words/actions.ts';
import { kindWord } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import { card, dataTable, pageHead, pager } from '../../parts.ts';
import { get, type PageContext, type Route, type WebAnswer, type WebRequest } from '../../server/route.ts';
import { durationOf, timeOf } from '../../shown-values.ts';
import { itemPath } from '../links.ts';

const PAGE_ROWS = 100;

/** The page of the audit log. */
export function auditRoutes({ reads, runtime }: PageContext): Route[] {
  async function page({ query }: WebRequest): Promise<WebAnswer> {
    const listed = await reads.actions({ limit: PAGE_ROWS, after: query.get('after') ?? undefined });
    const rows = await Promise.all(
      listed.rows.map(async ({ at, who, via, action, detail, outcome }) => [
        timeOf(at),
        who,
        via,
        html`<span title="${action}">${actionWords(action)}</span>`,
        html`${await Promise.all(given(detail).map(detailLine))}`,
        outcome ?? html`<span class="quiet">not ended</span>`,
      ]),
    );
    const columns = ['when', 'who', 'by', 'action', 'with', 'outcome'].map((name) => ({ name }));
    const table = dataTable({ caption: 'Actions, the newest first', columns, rows, empty: 'No actions yet.' });
    const body = html`${pageHead('Audit log')}${card(null, [table, pager({ path: '/audit', query, listed })])}`;
    return { type: 'page', title: 'Audit log', at: '/settings', body };
  }

  async function detailLine([name, value]: [string, unknown]): Promise<Html> {
    const isDelivery = name === 'delivery' || name === 'deliveries';
    const shown = isDelivery ? await deliveriesText(String(value)) : detailText(name, value);
    return html`<div><span class="quiet">${wordsOf(name)}</span> ${shown}</div>`;
  }

  /** Deliveries by the names of their items, whose ids they have. */
  async function deliveriesText(ids: string): Promise<Html> {
    const { members, more } = namedMembers(ids);
    const names = await Promise.all(
      members.map(async (id, at) => {
        const item = await runtime.reads.delivery(Number(id));
        const name =
          item === null
            ? id
            : html`${kindWord(item.kind)} <a href="${itemPath(item.kind, item.key)}">${item.naturalKey ?? item.key}</a>`;
        return html`${at === 0 ? null : ', '}${name}`;
      }),
    );
    return html`${names}${more}`;
  }

  const fields = { names: ['after'], all: { path: '/audit', name: 'The whole audit log' } };
  return [get('/audit', 'operator', page, { fields })];
}

/** The values that the request has. An empty text was an empty list, or a field that a person has left empty. */
const given = (detail: object) => Object.entries(detail).filter(([, value]) => value !== '');

/** A number from here on is a time in milliseconds since the epoch: counts and ids are smaller. */
const TIMES_FROM = Date.UTC(2020, 0);

/** The name of a value as words: `dryRun` is `dry run`, and `forMs` is `for`. */
function wordsOf(name: string): string {
  return name
    .replace(/Ms$/, '')
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll('_', ' ');
}

function detailText(name: string, value: unknown): Html | string | null {
  // The form that mutes an alert names its time in milliseconds too.
  if ((name.endsWith('Ms') || name === 'for') && Number(value) > 0) return durationOf(Number(value));
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && value >= TIMES_FROM) return timeOf(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
