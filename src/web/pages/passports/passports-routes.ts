import { PASSPORT_STATES, type PassportCounts } from '../../../domain/passport.ts';
import type { PassportFilter } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { RemoteId } from '../../../domain/ports/target.ts';
import { outcomeFault } from '../../../operations/outcome-fault.ts';
import { changeSelected } from '../../../operations/passports.ts';
import { passportPdf, pdfName } from '../../../operations/platform.ts';
import { filterValue, numberOf } from '../../server/fields.ts';
import {
  form,
  get,
  type PageContext,
  type Route,
  startTask,
  type WebAnswer,
  type WebRequest,
} from '../../server/route.ts';
import { counted } from '../../shown-values.ts';
import { badRequest, notFound, WebFault } from '../../web-fault.ts';
import { passportsPath } from '../links.ts';
import { sendingHold } from '../sending-hold.ts';
import { type ConfirmView, confirmPage, passportsPage, type WantedStatus } from './passports-pages.ts';

const PAGE_ROWS = 50;
const EXAMPLES_SHOWN = 20;
const WAIT_MS = 60_000;
/** The most bytes of a form. It has the keys of one page, which usually have at most a few hundred bytes each. */
const BODY_BYTES_MAX = 512 * 1024;

/** The routes for the list of passports, their PDFs, and publishing and withdrawing selected passports. */
export function passportsRoutes(context: PageContext): Route[] {
  const { runtime, reads, tasks, clock } = context;

  async function list({ query, person, csrf }: WebRequest): Promise<WebAnswer> {
    const filter = filterOf(query);
    const { state: _, ...ofAllStates } = filter;
    const { search, source } = filter;
    const [listed, counts, quarantined] = await Promise.all([
      reads.passports(filter, { after: query.get('after') ?? undefined, limit: PAGE_ROWS }),
      reads.passportCounts(ofAllStates),
      search === undefined ? [] : reads.searchQuarantined({ search, source }),
    ]);
    const body = passportsPage({
      listed,
      counts,
      quarantined,
      warning: listed.rows.some(({ state }) => state === 'initialized') ? await commonBlocker() : null,
      query,
      sources: runtime.config.sources.map(({ id }) => id),
      template: runtime.config.passports?.publicUrl ?? null,
      operates: person.role === 'operator',
      csrf,
    });
    return { type: 'page', title: 'Passports', body, at: '/passports' };
  }

  async function confirm({ form, csrf }: WebRequest): Promise<WebAnswer> {
    // The time is read before the counts, so that it is never later than what the page shows.
    const selection = { ...selectionOf(form), until: clock.now() };
    const { status, products, filter } = selection;
    const view = products === null ? await ofFilter(filter) : await ofProducts(products, status);
    const body = confirmPage({ ...view, hold: sendingHold(runtime), status, fields: fieldsOf(selection), csrf });
    const title = status === 'published' ? 'Publish passports' : 'Withdraw passports';
    return { type: 'page', title, body, at: '/passports' };
  }

  type Found = Pick<ConfirmView, 'counts' | 'examples' | 'warning'>;

  async function ofFilter(filter: PassportFilter): Promise<Found> {
    const mayLack = filter.state === undefined || filter.state === 'incomplete';
    const [counts, incomplete] = await Promise.all([
      reads.passportCounts(filter),
      mayLack ? reads.passports({ ...filter, state: 'incomplete' }, { limit: EXAMPLES_SHOWN }) : null,
    ]);
    const warning = (counts.initialized ?? 0) > 0 ? await commonBlocker() : null;
    return { counts, examples: incomplete?.rows ?? [], warning };
  }

  /** A reason why no passport can be published. Then even complete products wait. */
  async function commonBlocker(): Promise<string | null> {
    return (await reads.passportBlockers())[0] ?? null;
  }

  async function ofProducts(products: readonly string[], status: WantedStatus): Promise<Found> {
    const counts: PassportCounts = {};
    const examples: ConfirmView['examples'][number][] = [];
    const passports = await reads.passportsOf(products);
    for (const product of products) {
      const passport = passports.get(product);
      if (passport === undefined)
        throw badRequest(`The ledger has no product ${product} any more. Load the list again.`);
      const { blockers } = passport;
      // An initialised passport may be incomplete now. An initialised passport that no policy wants has the state
      // `none`.
      const cannot = status === 'published' && passport.state !== 'published' && blockers.length > 0;
      const state = cannot ? 'incomplete' : passport.state;
      counts[state] = (counts[state] ?? 0) + 1;
      if (state === 'incomplete' && examples.length < EXAMPLES_SHOWN) {
        examples.push({ product, naturalKey: null, state, blockers });
      }
    }
    return { counts, examples, warning: null };
  }

  async function change({ form, person }: WebRequest): Promise<WebAnswer> {
    const { status, products, filter, until } = selectionOf(form);
    const of = products === null ? 'all passports that a filter selects' : counted(products.length, 'passport');
    const title = `${status === 'published' ? 'Publishing' : 'Withdrawal'} of ${of}.`;
    const asked = { status, products, filter, until, waitMs: WAIT_MS };
    return startTask(tasks, changeSelected, asked, { person, title });
  }

  return [
    get('/passports', 'viewer', list, { fields: LIST_FIELDS }),
    get('/passports/pdf', 'viewer', ({ query, abort }) => passportPdfAnswer(query.get('key') ?? '', abort, context)),
    get('/passports/:key/pdf', 'viewer', ({ params, abort }) => passportPdfAnswer(params['key'] ?? '', abort, context)),
    { method: 'POST', path: '/passports/confirm', role: 'operator', ...SELECTION, handle: confirm },
    form('/passports/change', changeSelected, change, { action: 'passports.change', ...SELECTION }),
  ];
}

const ALL = { path: passportsPath(), name: 'All passports' };
const STATE_FILTER = { values: PASSPORT_STATES, all: ALL };
const FILTER = ['state', 'source', 'search'];
const LIST_FIELDS = { names: [...FILTER, 'after'], all: ALL };
const SELECTION = {
  fields: { names: ['status', 'of', 'product', 'until', ...FILTER], several: ['product'], all: ALL },
  bodyBytesMax: BODY_BYTES_MAX,
};

/** @throws WebFault for an unknown state */
function filterOf(query: URLSearchParams): PassportFilter {
  const state = filterValue(query, 'state', STATE_FILTER);
  const source = query.get('source') ?? '';
  const search = query.get('search')?.trim() ?? '';
  return {
    ...(state === undefined ? {} : { state }),
    ...(source === '' ? {} : { source }),
    ...(search === '' ? {} : { search }),
  };
}

interface Selection {
  status: WantedStatus;
  /** The keys of the selected products; null for all products that the filter selects. */
  products: string[] | null;
  filter: PassportFilter;
  /** When the page that the person has confirmed was loaded; null for named products. */
  until: number | null;
}

/** @throws WebFault if nothing is selected */
function selectionOf(form: URLSearchParams): Selection {
  const status = form.get('status');
  if (status !== 'published' && status !== 'unpublished')
    throw badRequest('The form has no action. Go back, and choose Publish or Withdraw.');
  if (form.get('of') === 'filter') {
    return { status, products: null, filter: filterOf(form), until: numberOf(form, 'until') ?? null };
  }
  const products = form.getAll('product');
  if (products.length === 0) throw badRequest('No passport is selected. Go back and select passports, or choose all.');
  return { status, products, filter: {}, until: null };
}

function fieldsOf({ products, filter, until }: Selection): [string, string][] {
  if (products !== null) return products.map((product) => ['product', product]);
  return [
    ['of', 'filter'],
    ['until', String(until)],
    ...Object.entries(filter).map(([name, value]): [string, string] => [name, String(value)]),
  ];
}

/** The largest PDF that is read from the platform (I9). */
const BYTES_MAX = 32 * 1024 * 1024;

/**
 * The passport of a product as PDF, read from the platform.
 *
 * @throws WebFault if the platform has no such product or gives no PDF
 */
async function passportPdfAnswer(key: string, abort: AbortSignal, { runtime }: PageContext): Promise<WebAnswer> {
  const product = await runtime.reads.item('product', key);
  const id = product?.remoteId ?? null;
  if (product === null || (typeof id !== 'string' && typeof id !== 'number')) {
    throw notFound('The platform does not have this product.');
  }
  const pdf = await read(id, abort, runtime);
  return {
    type: 'download',
    name: pdfName(product.naturalKey ?? product.key),
    contentType: 'application/pdf',
    chunks: chunksOf(pdf),
  };
}

async function* chunksOf(chunks: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* chunks;
}

/** Reads the whole document, because the status of an error can only be sent before the first byte. */
async function read(id: RemoteId, abort: AbortSignal, runtime: PageContext['runtime']): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const sink = {
    async write(chunk: Uint8Array): Promise<void> {
      bytes += chunk.length;
      if (bytes > BYTES_MAX) throw new WebFault(502, 'The PDF of the platform is larger than 32 MB.');
      chunks.push(Uint8Array.from(chunk));
    },
  };
  const result = await passportPdf.run({ productId: id }, { runtime, bytes: sink, abort });
  if (result.ok) return chunks;
  abort.throwIfAborted();
  throw outcomeFault(result.outcome, {
    failure: 'The PDF cannot be read',
    cure: 'A passport has to be prepared before the platform makes a PDF of it.',
  });
}
