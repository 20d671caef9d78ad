// A source in a file, which has a log of its changes with tombstones, and can forget positions in the log.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const SDK = pathToFileURL(join(import.meta.dirname, '../../../src/sdk/index.ts')).href;

/**
 * The connector, as the text of a module. It reads `log.json` in the folder of the config, and gives two rows on a page. Of each record it gives only
 * the last change.
 */
export const CHANGE_LOG_CONNECTOR = `import { readFileSync } from 'node:fs';
import { defineConnector, z } from '${SDK}';
const PAGE = 2;
export default defineConnector({
  id: 'change-log',
  title: 'A log of changes',
  reads: 'changes-and-snapshot',
  options: z.strictObject({}),
  streamOptions: z.strictObject({}),
  async open(_, host) {
    const place = (at) => ({ file: 'log.json', path: String(at) });
    return {
      async check() { return { found: 'a log' }; },
      async *pull({ mode, cursor }) {
        const { epoch, rows, changes } = JSON.parse(readFileSync(host.resolvePath('log.json'), 'utf8'));
        if (mode === 'changes' && cursor !== null && cursor.epoch !== epoch) {
          yield { rows: [], beginAgain: 'The log has forgotten the position ' + cursor.at + '.' };
          return;
        }
        const idOf = ({ row, gone }) => gone ?? row.ID;
        const last = new Map(changes.map((change, at) => [idOf(change), at]));
        const all = mode === 'changes'
          ? changes.map((change, at) => ({ ...change, at })).filter((change) => change.at >= (cursor?.at ?? 0) && last.get(idOf(change)) === change.at)
          : rows.map((row, at) => ({ row, at }));
        for (let from = 0; from < all.length || from === 0; from += PAGE) {
          const isLast = from + PAGE >= all.length;
          const page = all.slice(from, from + PAGE);
          const at = isLast ? changes.length : all[from + PAGE].at;
          yield {
            rows: page.map(({ row, gone, at }) => gone === undefined
              ? { fields: row, place: place(at) }
              : { fields: { ID: gone }, place: place(at), isGone: true }),
            ...(mode === 'changes' || isLast ? { cursor: { epoch, at } } : {}),
          };
        }
      },
      async close() {},
    };
  },
});
`;

type Row = { ID: string } & Record<string, string>;

/**
 * The content of such a source.
 *
 * @param write replaces the file
 */
export function createChangeLog(write: (text: string) => void) {
  let epoch = 1;
  let rows: readonly Row[] = [];
  const changes: ({ row: Row } | { gone: string })[] = [];
  const store = () => write(JSON.stringify({ epoch, rows, changes }));
  return {
    /** The source has these rows from now on. */
    become(next: readonly Row[]) {
      const known = new Map(rows.map((row) => [row.ID, JSON.stringify(row)]));
      for (const row of next) if (known.get(row.ID) !== JSON.stringify(row)) changes.push({ row });
      const left = new Set(next.map(({ ID }) => ID));
      for (const { ID } of rows) if (!left.has(ID)) changes.push({ gone: ID });
      rows = next;
      store();
    },
    /** Changes can only be read from the present state on. */
    forget() {
      epoch += 1;
      store();
    },
  };
}
