// Loaded into the daemon before its program. For each request that its HTTP servers have answered, it appends a line with the path and
// the server's time to the file that BENCH_SERVER_TIMES names: milliseconds from the head of the request to the end of the answer.

import { channel } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';

const file = process.env['BENCH_SERVER_TIMES'];
const begun = new WeakMap<IncomingMessage, number>();

if (file !== undefined) {
  channel('http.server.request.start').subscribe((message) => {
    begun.set((message as { request: IncomingMessage }).request, performance.now());
  });
  channel('http.server.response.finish').subscribe((message) => {
    const { request } = message as { request: IncomingMessage };
    const at = begun.get(request);
    if (at !== undefined) appendFileSync(file, `${request.url} ${(performance.now() - at).toFixed(3)}\n`);
  });
}
