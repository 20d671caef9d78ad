// The smallest program for this work: no state, no retry, and as many requests in flight as there are connections.

import { Pool } from 'undici';
import { bodyOf, compete, HEADERS, rowsOf } from '../support/contender.ts';

await compete(async ({ baseUrl, csv, connections }) => {
  const pool = new Pool(baseUrl, { connections, pipelining: 1 });
  return async () => {
    const rows = rowsOf(csv)[Symbol.asyncIterator]();
    const send = async (): Promise<void> => {
      for (let next = await rows.next(); !next.done; next = await rows.next()) {
        const body = bodyOf(next.value);
        const answer = await pool.request({ method: 'POST', path: '/api/products/', headers: HEADERS, body });
        await answer.body.json();
      }
    };
    await Promise.all(Array.from({ length: connections }, send));
  };
});
