// The other side of `npm run bench:push`: takes what it is sent, waits as long as it was told, and answers with an id.
// `node answering-server-process.ts LATENCY_MS` prints its URL; asked for it, it says how many writes it took.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const latencyMs = Number(process.argv[2] ?? 0);
let taken = 0;

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume();
  request.on('end', () => {
    const isWrite = request.method === 'POST';
    if (isWrite) taken += 1;
    const body = isWrite ? `{"id":${taken}}` : '{"count":0,"next":null,"previous":null,"results":[]}';
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
process.on('message', () => process.send?.(taken));
