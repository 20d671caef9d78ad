// The platform of the benchmarks: it accepts every write, waits for the given latency, shows what was sent in its answer, and
// lists what it has. `node answering-server-process.ts LATENCY_MS` prints its URL. A message from its parent asks what it has
// accepted since the last message.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

type Entity = Record<string, unknown>;

const latencyMs = Number(process.argv[2] ?? 0);
/** The ledgers of the benchmarks have lower ids. An answer with the id of another item counts as no answer. */
let id = 1_000_000_000;
let taken = { writes: 0, products: 0, requests: 0 };
/** The entities as JSON texts, by the path of their list and by their id. */
const lists = new Map<string, Map<number, string>>();
const productIds = new Map<string, number>();

const PRODUCTS = '/api/products/';
const ENTITY = /^(?<path>.*\/)(?<id>\d+)\/$/;

function listAt(path: string): Map<number, string> {
  const list = lists.get(path) ?? new Map<number, string>();
  lists.set(path, list);
  return list;
}

function page({ pathname, searchParams }: URL): string {
  const size = Number(searchParams.get('page_size') ?? 500);
  const at = Number(searchParams.get('page') ?? 1);
  const texts = [...listAt(pathname).values()];
  const next = at * size < texts.length ? `"${pathname}?page=${at + 1}&page_size=${size}"` : 'null';
  const results = texts.slice((at - 1) * size, at * size).join(',');
  return `{"count":${texts.length},"next":${next},"previous":null,"results":[${results}]}`;
}

function created(path: string, body: string): string {
  id += 1;
  const text = `{"id":${id},${body.slice(1)}`;
  listAt(path).set(id, text);
  if (path === PRODUCTS) productIds.set(String((JSON.parse(body) as Entity)['sku']), id);
  return text;
}

function changed(path: string, at: number, change: Entity): string {
  const text = JSON.stringify({ ...(JSON.parse(listAt(path).get(at) ?? '{}') as Entity), ...change, id: at });
  listAt(path).set(at, text);
  return text;
}

/** An import updates all its products. */
function imported(body: string): string {
  const values = Object.values(JSON.parse(body) as Record<string, unknown>);
  const products = values.find((one): one is Entity[] => Array.isArray(one)) ?? [];
  for (const product of products) changed(PRODUCTS, productIds.get(String(product['sku'])) ?? 0, product);
  taken.products += products.length;
  return `{"updated":${products.length}}`;
}

function answerTo(method: string, url: URL, body: string): string {
  const entity = ENTITY.exec(url.pathname)?.groups;
  if (method === 'GET') return page(url);
  if (method === 'POST') taken.writes += 1;
  if (url.pathname.startsWith('/api/imports/')) return imported(body);
  if (method === 'POST') taken.products += 1;
  if (entity === undefined) return created(url.pathname, body);
  return changed(entity['path'] ?? '', Number(entity['id']), JSON.parse(body) as Entity);
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  request.on('end', () => {
    taken.requests += 1;
    const { method = 'GET', url = '/' } = request;
    const body = Buffer.from(answerTo(method, new URL(url, 'http://platform'), Buffer.concat(chunks).toString()));
    const answer = (): void => {
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      response.writeHead(method === 'POST' ? 201 : 200, headers);
      response.end(body);
    };
    if (latencyMs === 0) answer();
    else setTimeout(answer, latencyMs);
  });
});

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on('message', () => {
  process.send?.(taken);
  taken = { writes: 0, products: 0, requests: 0 };
});
