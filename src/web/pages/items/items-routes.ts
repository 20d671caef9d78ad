import type { SubjectKind } from '../../../domain/item.ts';
import type { ItemListFilter, Why, WhyStep } from '../../../domain/ports/ledger/dashboard-views.ts';
import { kindWord, STATES_IN_ORDER } from '../../../domain/words/states.ts';
import { filterValue, unknownFilter } from '../../server/fields.ts';
import { get, type PageContext, type Route, type WebAnswer, type WebRequest } from '../../server/route.ts';
import { isSubjectKind, KINDS } from '../../shown-values.ts';
import { notFound } from '../../web-fault.ts';
import { itemsPath } from '../links.ts';
import { passportActions } from '../passports/passport-actions.ts';
import { sendingHold } from '../sending-hold.ts';
import { itemPage, rowsPage } from './item-page.ts';
import { itemsPage } from './items-list.ts';
import { actionsAbout } from './timeline.ts';

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
    // The three questions are asked at once, because each wait for the thread that reads the ledger is long while a sync runs.
    const [item, why, actions] = await Promise.all([
      reads.itemDetail(kind, key),
      ofProduct ? reads.why(key) : null,
      reads.actions({ limit: ACTIONS_MAX }),
    ]);
    const records = why === null ? [] : recordsOf(why);
    const quarantined = records.length === 0 ? [] : await reads.quarantinedRows(records);
    if (item === null) {
      if (why === null) throw notFound(`The ledger has no ${kindWord(kind)} with the key ${key}.`);
      const title = `${KINDS.product.one} ${key}`;
      const body = rowsPage(await withoutDeadLinks(why), quarantined, sendingHold(runtime));
      return { type: 'page', title, body, at: '/items' };
    }
    const passport = ofProduct ? await runtime.reads.passport(item.key) : null;
    const forms =
      passport === null
        ? null
        : passportActions(
            {
              product: item.key,
              naturalKey: item.naturalKey,
              remoteId:
                kind === 'product'
                  ? item.remoteId
                  : ((await runtime.reads.item('product', item.key))?.remoteId ?? null),
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
      why: why === null ? null : await withoutDeadLinks(why),
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
