import { isSubjectKind, type SubjectKind } from '../../../domain/item.ts';
import type {
  ItemListFilter,
  ItemRow,
  Listed,
  RowInQuarantine,
  Why,
  WhyStep,
} from '../../../domain/ports/ledger/dashboard-views.ts';
import { kindWord, STATES_IN_ORDER, stateWord } from '../../../domain/words/states.ts';
import { type Html, html } from '../../html.ts';
import { addressWith, card, dataTable, filterForm, pageHead, pager, withCode } from '../../parts.ts';
import { filterValue, unknownFilter } from '../../server/fields.ts';
import { get, type PageContext, type Route, type WebAnswer, type WebRequest } from '../../server/route.ts';
import { counted, KINDS, stateBadge, timeOf } from '../../shown-values.ts';
import { notFound } from '../../web-fault.ts';
import { quarantinedLine } from '../attention/causes.ts';
import { causePath, itemPath, itemsPath, runPath } from '../links.ts';
import { passportActions } from '../passports/passports-pages.ts';
import { sendingHold } from '../sending-hold.ts';
import { actionsAbout, itemPage, rowsPage } from './item-page.ts';

const PAGE_ROWS = 50;
/** How many of the last actions of people are searched for those about an item. */
const ACTIONS_MAX = 500;
const ALL = { path: itemsPath(), name: 'All items' };
const KIND_FILTER = { values: Object.keys(KINDS) as SubjectKind[], all: ALL };
const STATE_FILTER = {
  values: [...STATES_IN_ORDER, 'missing', 'incomplete', 'open', 'attention'] as const,
  all: ALL,
};

const LIST_FIELDS = { names: ['kind', 'state', 'source', 'search', 'cause', 'run', 'after'], all: ALL };

/** The routes for the list of items, and for the page of each item. */
export function itemsRoutes(context: PageContext): Route[] {
  const { runtime, reads } = context;

  async function list({ query }: WebRequest): Promise<WebAnswer> {
    const filter = itemFilterOf(query);
    const { search, source } = filter;
    const [listed, quarantined] = await Promise.all([
      reads.items(filter, { after: query.get('after') ?? undefined, limit: PAGE_ROWS }),
      search === undefined ? [] : reads.searchQuarantined({ search, source }),
    ]);
    const sources = runtime.config.sources.map(({ id }) => id);
    return { type: 'page', title: 'Items', body: itemsPage({ listed, quarantined, query, sources }), at: '/items' };
  }

  async function one(key: string, { params, person, csrf }: WebRequest): Promise<WebAnswer> {
    const kind = params['kind'] ?? '';
    if (!isSubjectKind(kind)) throw notFound('There is no kind of item with this name.');
    const ofProduct = kind === 'product' || kind === 'passport';
    // Questions are asked together, because each wait for the thread that reads the ledger is long while a sync runs.
    const [item, explained, actions, passport, product] = await Promise.all([
      reads.itemDetail(kind, key),
      ofProduct ? reads.why(key) : null,
      reads.actions({ limit: ACTIONS_MAX }),
      ofProduct ? reads.passport(key) : null,
      kind === 'passport' ? reads.item('product', key) : null,
    ]);
    const records = explained === null ? [] : recordsOf(explained);
    const [why, quarantined] = await Promise.all([
      explained === null ? null : withoutDeadLinks(explained),
      records.length === 0 ? [] : reads.quarantinedRows(records),
    ]);
    if (item === null) {
      if (why === null) throw notFound(`The ledger has no ${kindWord(kind)} with the key ${key}.`);
      const title = `${KINDS.product.one} ${key}`;
      return { type: 'page', title, body: rowsPage(why, quarantined, sendingHold(runtime)), at: '/items' };
    }
    const forms =
      passport === null
        ? null
        : passportActions(
            {
              product: item.key,
              naturalKey: item.naturalKey,
              remoteId: kind === 'product' ? item.remoteId : (product?.remoteId ?? null),
              acknowledged: passport.acknowledged,
            },
            {
              csrf,
              operates: person.role === 'operator',
              template: runtime.config.passports?.publicUrl ?? null,
            },
          );
    const body = itemPage({
      item,
      passport,
      why,
      quarantined,
      hold: sendingHold(runtime),
      actions: actionsAbout(item, actions.rows),
      passportActions: forms,
    });
    return { type: 'page', title: `${KINDS[kind].one} ${item.naturalKey ?? item.key}`, body, at: '/items' };
  }

  /** Removes links to items that no source gives, because they have no page. */
  async function withoutDeadLinks(why: Why): Promise<Why> {
    const exists = async ({ kind, key }: NonNullable<WhyStep['item']>) => (await reads.item(kind, key)) !== null;
    const steps = why.steps.map(async (step) =>
      step.item === null || (await exists(step.item)) ? step : { ...step, item: null },
    );
    return { ...why, steps: await Promise.all(steps) };
  }

  return [
    get('/items', 'viewer', list, { fields: LIST_FIELDS }),
    // Browsers change a path with a key of dots, and the server limits the length of a path. So the key may be in the
    // query instead.
    get('/items/:kind', 'viewer', (request) => one(request.query.get('key') ?? '', request)),
    get('/items/:kind/:key', 'viewer', (request) => one(request.params['key'] ?? '', request)),
  ];
}

function recordsOf({ steps }: Why): number[] {
  return steps.flatMap(({ record }) => record ?? []);
}

/**
 * The filter in the address of a list.
 *
 * @throws WebFault for an unknown kind, state or run
 */
function itemFilterOf(query: URLSearchParams): ItemListFilter {
  const run = query.get('run') ?? '';
  if (!/^\d{0,15}$/.test(run)) throw unknownFilter({ name: 'run', given: run, expected: 'the number of a run' }, ALL);
  return {
    kind: filterValue(query, 'kind', KIND_FILTER),
    state: filterValue(query, 'state', STATE_FILTER),
    source: query.get('source') || undefined,
    search: query.get('search')?.trim() || undefined,
    cause: query.get('cause') || undefined,
    run: run === '' ? undefined : Number(run),
  };
}

interface ItemsView {
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
function itemsPage({ listed, quarantined, query, sources }: ItemsView): Html {
  const value = (name: string): string => query.get(name) ?? '';
  const states = [
    ...Object.entries(SELECTED).map(([state, name]) => ({ value: state, name })),
    ...STATES_IN_ORDER.map((state) => ({ value: state, name: stateWord(state) })),
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
      reason === null || state === 'delivered' ? null : withCode(reason.message),
      source,
      timeOf(since),
    ]),
    empty: query.size === 0 ? 'The ledger has no items yet.' : NO_MATCH,
    isCompact: true,
  });
}
