// The daemon loads this module before its program. For each request that the HTTP servers of the daemon have answered, the
// module appends a line to the file that BENCH_SERVER_TIMES names: the path, and the milliseconds from the head of the request
// to the end of the answer.

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
