// The platform of the benchmarks: it accepts every write, waits for the given latency, and answers with an id.
// `node answering-server-process.ts LATENCY_MS` prints its URL. A message from its parent asks what it has accepted since the
// last message.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const latencyMs = Number(process.argv[2] ?? 0);
let id = 0;
let taken = { writes: 0, products: 0, requests: 0 };

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const isImport = request.url?.startsWith('/api/imports/') === true;
  const chunks: Buffer[] = [];
  if (isImport) request.on('data', (chunk: Buffer) => void chunks.push(chunk));
  else request.resume();
  request.on('end', () => {
    const isWrite = request.method === 'POST';
    const products = isImport ? countProducts(Buffer.concat(chunks).toString()) : 1;
    taken.requests += 1;
    if (isWrite) taken.writes += 1;
    if (isWrite) taken.products += products;
    id += 1;
    const body = isWrite ? answerTo(isImport, products) : '{"count":0,"next":null,"previous":null,"results":[]}';
    const answer = (): void => {
      response.writeHead(isWrite ? 201 : 200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
    };
    if (latencyMs === 0) answer();
    else setTimeout(answer, latencyMs);
  });
});

function countProducts(body: string): number {
  const lists = Object.values(JSON.parse(body) as Record<string, unknown>);
  return lists.find((one) => Array.isArray(one))?.length ?? 0;
}

/** An import updates all its products. */
function answerTo(isImport: boolean, products: number): string {
  return isImport ? `{"updated":${products}}` : `{"id":${id}}`;
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on('message', () => {
  process.send?.(taken);
  taken = { writes: 0, products: 0, requests: 0 };
});
