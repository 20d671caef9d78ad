import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The smallest possible JSON API: it reads the body, parses it and answers. `node bare-server-process.ts` prints its
 * URL.
 */
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString();
    const answer = JSON.stringify(text === '' ? { count: 0, results: [] } : (JSON.parse(text) as unknown));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
    response.end(answer);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on('message', () => process.send?.(process.cpuUsage()));
