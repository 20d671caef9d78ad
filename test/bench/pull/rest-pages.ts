import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { request } from 'undici';
import { rest } from '../../../connectors/rest/index.ts';
import { cellsOf, type Format, NAMES, writeLines } from './formats.ts';

const PAGE_ROWS = 500;

interface Answer {
  next: string | null;
  items: Record<string, string>[];
}

/** An API whose answers take this long. */
export function restPages(latencyMs: number): Format {
  return {
    name: `REST, ${latencyMs} ms`,
    bareName: 'undici and JSON.parse',
    connector: rest,
    options: { limits: { perSecond: 1000 } },
    stream: { get: 'items', rows: '$.items', page: { by: 'nextLink', next: '$.next', total: '$.total' } },
    write(file, count) {
      const pages = Math.ceil(count / PAGE_ROWS);
      writeLines(file, pages, (page) => {
        const rows = Math.min(PAGE_ROWS, count - page * PAGE_ROWS);
        const items = Array.from({ length: rows }, (_, at) => {
          const cells = cellsOf(page * PAGE_ROWS + at);
          return Object.fromEntries(NAMES.map((name, column) => [name, cells[column]]));
        });
        const next = page === pages - 1 ? null : `/items?page=${page + 1}`;
        return `${JSON.stringify({ total: count, next, items })}\n`;
      });
    },
    async serve(file) {
      const child = fork(join(import.meta.dirname, 'page-server-process.ts'), [file, String(latencyMs)]);
      const [port] = (await once(child, 'message')) as [number];
      return { base: `http://127.0.0.1:${port}`, close: () => void child.kill() };
    },
    async bare(_file, base) {
      let records = 0;
      for (let next: string | null = '/items'; next !== null; ) {
        const { body } = await request(`${base}${next}`);
        const answer = JSON.parse(await body.text()) as Answer;
        records += answer.items.length;
        ({ next } = answer);
      }
      return records;
    },
  };
}
