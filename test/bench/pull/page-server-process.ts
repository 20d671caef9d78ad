// An API of pages, in a process of its own: each line of the file is the answer to the request for one page. The first argument is the
// file, the second one how long each answer takes, in milliseconds. Sends its port to its parent.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [, , file = '', latencyMs = '0'] = process.argv;
const pages = readFileSync(file, 'utf8').trimEnd().split('\n');
const server = createServer((request, response) => {
  const at = Number(new URL(request.url ?? '/', 'http://localhost').searchParams.get('page') ?? 0);
  setTimeout(() => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(pages[at]);
  }, Number(latencyMs));
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());
