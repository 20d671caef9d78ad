import { graphql } from 'graphql';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/lib/json.ts';
import { text } from '../../../support/ledger/items.ts';
import { type RestCall, type RestReply, startRestServer } from '../../../support/rest/rest-server.ts';
import { SHOPIFY_SCHEMA } from './shopify-schema.ts';

export interface ShopifyProduct {
  number: number;
  title: string;
  descriptionHtml?: string;
  status?: string;
  /** In milliseconds. */
  updated: number;
}

export interface ShopifyVariant {
  number: number;
  product: number;
  title?: string;
  sku?: string | null;
  barcode?: string;
  country?: string;
  updated: number;
  /** The JSON of the metafield `custom.materials`. */
  materials?: JsonValue;
  /** The parts of a bundle: the number of a variant, and how often. */
  parts?: [variant: number, quantity: number][];
}

interface Job {
  id: string;
  query: string;
  /** How often it is still running when it is asked for. */
  polls: number;
}

type Arguments = { first?: number; after?: string; query?: string };

/** The most rows that Shopify gives for one filter, with all its pages. */
const PAGED_MAX = 25_000;

const iso = (at: number): string => new Date(at).toISOString().replace('.000', '');
const idOf = (kind: string, number: number): string => `gid://shopify/${kind}/${number}`;

/**
 * Shopify's Admin API as its documentation describes it: queries are carried out by a real GraphQL engine, and the file of a bulk
 * operation lies on another server, which must not get the token.
 */
export async function startShopify() {
  const shop = {
    products: [] as ShopifyProduct[],
    variants: [] as ShopifyVariant[],
    materials: [] as { handle: string; [field: string]: string }[],
    /** The time of the shop. */
    now: Date.UTC(2026, 5, 1, 12),
    /** How many rows Shopify gives at most for one filter. */
    cap: PAGED_MAX,
    /** How many requests are answered with THROTTLED. */
    throttled: 0,
    /** How often a bulk operation is not allowed because another one runs. */
    busy: 0,
    /** How often the next bulk operation is running when it is asked for. */
    polls: 0,
    /** Changes the file and the state of a bulk operation. */
    spoil: null as ((job: { lines: string[]; status: string; errorCode: string | null; count: number }) => void) | null,
    /** True if the addresses of files have ended. */
    filesHaveEnded: false,
    /** How many requests a token is good for. */
    requestsOfToken: Number.POSITIVE_INFINITY,
    tokens: 0,
    /** The requests for files. */
    files: [] as RestCall[],
  };
  const jobs = new Map<string, Job>();
  const results = new Map<string, string>();
  let left = 0;

  const productOf = ({ number, updated, descriptionHtml = '', status = 'ACTIVE', ...rest }: ShopifyProduct) => ({
    __typename: 'Product',
    ...rest,
    descriptionHtml,
    status,
    id: idOf('Product', number),
    updatedAt: iso(updated),
  });
  type Node = Record<string, unknown>;
  const variantOf = (variant: ShopifyVariant): Node => ({
    __typename: 'ProductVariant',
    id: idOf('ProductVariant', variant.number),
    title: variant.title ?? 'Default Title',
    sku: variant.sku === undefined ? `SKU-${variant.number}` : variant.sku,
    barcode: variant.barcode ?? null,
    updatedAt: iso(variant.updated),
    product: () => productOf(shop.products.find(({ number }) => number === variant.product) as ShopifyProduct),
    inventoryItem: { countryCodeOfOrigin: variant.country ?? null },
    metafield: ({ namespace, key }: { namespace: string; key: string }) =>
      namespace === 'custom' && key === 'materials' && variant.materials !== undefined
        ? { jsonValue: variant.materials }
        : null,
    productVariantComponents: (asked: Arguments) =>
      connectionOf(
        (variant.parts ?? []).map(([part, quantity]) => ({
          number: part,
          id: idOf('ProductVariantComponent', variant.number * 100 + part),
          quantity,
          productVariant: variantOf(shop.variants.find(({ number }) => number === part) as ShopifyVariant),
        })),
        asked,
        (one) => one,
      ),
  });

  /** A connection, sorted by id. A bulk operation asks for it without `first`. */
  function connectionOf<T extends { number: number }>(rows: readonly T[], asked: Arguments, nodeOf: (row: T) => Node) {
    const { first = rows.length, after } = asked;
    const from = after === undefined ? 0 : Number(Buffer.from(after, 'base64').toString());
    const sorted = rows.toSorted((a, b) => a.number - b.number);
    const reachable = asked.first === undefined ? sorted : sorted.slice(0, shop.cap);
    const behind = reachable.filter(({ number }) => number > from);
    const found = behind.slice(0, first);
    const nodes = found.map(nodeOf);
    const end = found.at(-1)?.number;
    return {
      nodes,
      edges: nodes.map((node) => ({ node })),
      pageInfo: {
        hasNextPage: behind.length > found.length,
        endCursor: end === undefined ? null : Buffer.from(String(end)).toString('base64'),
      },
    };
  }

  /** The rows that a filter of Shopify finds. A filter that Shopify does not know is ignored. */
  function filtered<T extends { updated: number; parts?: unknown[] }>(rows: readonly T[], query = ''): T[] {
    const [, since = ''] = /^updated_at:>='([^']+)'$/.exec(query) ?? [];
    const isBundle = query === 'requires_components:true';
    return rows.filter((row) => (since === '' || iso(row.updated) >= since) && (!isBundle || row.parts !== undefined));
  }

  const root = {
    products: (asked: Arguments) => connectionOf(filtered(shop.products, asked.query), asked, productOf),
    productVariants: (asked: Arguments) => connectionOf(filtered(shop.variants, asked.query), asked, variantOf),
    metaobjects: (asked: Arguments) =>
      connectionOf(
        shop.materials.map((one, at) => ({ ...one, number: at + 1 })),
        asked,
        ({ number, handle, ...fields }) => ({
          id: idOf('Metaobject', number),
          handle,
          field: ({ key }: { key: string }) => {
            const value: unknown = (fields as Record<string, unknown>)[key];
            return value === undefined ? null : { value };
          },
        }),
      ),
    node: ({ id }: { id: string }) => stateOf(jobs.get(id) as Job),
    bulkOperationRunQuery: ({ query }: { query: string }) => {
      if (shop.busy > 0) {
        shop.busy -= 1;
        const message = 'A bulk query operation for this app and shop is already in progress.';
        return { bulkOperation: null, userErrors: [{ code: 'OPERATION_IN_PROGRESS', field: null, message }] };
      }
      const job = { id: idOf('BulkOperation', jobs.size + 1), query, polls: shop.polls };
      shop.polls = 0;
      jobs.set(job.id, job);
      return { bulkOperation: { id: job.id, status: 'CREATED', objectCount: '0' }, userErrors: [] };
    },
  };

  async function stateOf(job: Job): Promise<Node> {
    const common = { __typename: 'BulkOperation', id: job.id, errorCode: null, url: null, partialDataUrl: null };
    job.polls -= 1;
    if (job.polls >= 0) return { ...common, status: 'RUNNING', objectCount: '1' };
    const { data } = await graphql({ schema: SHOPIFY_SCHEMA, source: job.query, rootValue: root });
    const plain = JSON.parse(JSON.stringify(data)) as JsonObject;
    const lines = Object.values(plain).flatMap((connection) => linesOf(connection as JsonObject, null));
    const result = { lines, status: 'COMPLETED', errorCode: null as string | null, count: lines.length };
    shop.spoil?.(result);
    const path = `/bulk/${job.id.slice(job.id.lastIndexOf('/') + 1)}.jsonl`;
    results.set(path, result.lines.map((line) => `${line}\n`).join(''));
    const file = lines.length === 0 ? null : `${storage.base}${path}?signature=signed-for-the-app-of-this-shop`;
    const isDone = result.status === 'COMPLETED';
    return {
      ...common,
      status: result.status,
      errorCode: result.errorCode,
      objectCount: String(result.count),
      ...(isDone ? { url: file } : { partialDataUrl: file }),
    };
  }

  const storage = await startRestServer((call) => {
    shop.files.push(call);
    if (shop.filesHaveEnded) return { status: 403, text: '<Error><Code>ExpiredToken</Code></Error>' };
    return { text: results.get(call.path) ?? '' };
  });

  function token({ body }: RestCall): RestReply {
    const form = new URLSearchParams(typeof body === 'string' ? body : '');
    const given = [form.get('grant_type'), form.get('client_id'), form.get('client_secret')].join(' ');
    if (given !== 'client_credentials client app-secret-1') return { status: 400, body: { error: 'invalid_client' } };
    shop.tokens += 1;
    left = shop.requestsOfToken;
    return { body: { access_token: `shpat_of_this_shop_${shop.tokens}`, scope: 'read_products', expires_in: 86_399 } };
  }

  const server = await startRestServer(async (call) => {
    const headers = { date: new Date(shop.now).toUTCString() };
    if (call.path === '/admin/oauth/access_token') return { headers, ...token(call) };
    if (call.path !== '/admin/api/2026-01/graphql.json') return { headers, status: 404, body: { errors: 'Not Found' } };
    if (call.headers['x-shopify-access-token'] !== `shpat_of_this_shop_${shop.tokens}` || left === 0) {
      return { headers, status: 401, body: { errors: '[API] Invalid API key or access token' } };
    }
    left -= 1;
    if (shop.throttled > 0) {
      shop.throttled -= 1;
      const cost = {
        requestedQueryCost: 152,
        throttleStatus: { maximumAvailable: 2000, currentlyAvailable: 20, restoreRate: 100 },
      };
      const error = { message: 'Throttled', extensions: { code: 'THROTTLED' } };
      return { headers, body: { errors: [error], extensions: { cost } } };
    }
    const { query, variables } = call.body as unknown as { query: string; variables?: Record<string, unknown> };
    const answer = await graphql({
      schema: SHOPIFY_SCHEMA,
      source: query,
      rootValue: root,
      ...(variables === undefined ? {} : { variableValues: variables }),
    });
    return { headers, body: answer };
  });
  return Object.assign(shop, {
    server,
    async close() {
      await Promise.all([server.close(), storage.close()]);
    },
  });
}

export type Shopify = Awaited<ReturnType<typeof startShopify>>;

/** The lines of the file for a connection: a nested connection becomes lines with the id of their parent. */
function linesOf(connection: JsonObject, parent: string | null): string[] {
  const isConnection = (value: JsonValue | undefined): value is JsonObject => isJsonObject(value) && 'edges' in value;
  return (connection['edges'] as { node: JsonObject }[]).flatMap(({ node }) => {
    const own = Object.fromEntries(Object.entries(node).filter(([, value]) => !isConnection(value)));
    const line = JSON.stringify(parent === null ? own : { ...own, __parentId: parent });
    return [
      line,
      ...Object.values(node)
        .filter(isConnection)
        .flatMap((one) => linesOf(one, text(node['id']))),
    ];
  });
}

/** The values of the variables of the preset. */
export function shopifyEnv({ server }: Shopify): Record<string, string> {
  return { SHOPIFY_URL: server.base, SHOPIFY_CLIENT_ID: 'client', SHOPIFY_CLIENT_SECRET: 'app-secret-1' };
}
