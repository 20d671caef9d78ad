// The other side of the benchmarks: takes what it is sent, waits as long as it was told, and answers with an id.
// `node answering-server-process.ts LATENCY_MS` prints its URL; asked for it, it says what it has taken since.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const latencyMs = Number(process.argv[2] ?? 0);
let id = 0;
let taken = { writes: 0, requests: 0 };

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume();
  request.on('end', () => {
    const isWrite = request.method === 'POST';
    taken.requests += 1;
    if (isWrite) taken.writes += 1;
    id += 1;
    const body = isWrite ? `{"id":${id}}` : '{"count":0,"next":null,"previous":null,"results":[]}';
    const answer = (): void => {
      response.writeHead(isWrite ? 201 : 200, { 'content-type': 'application/json', 'content-length': body.length });
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
  taken = { writes: 0, requests: 0 };
});
