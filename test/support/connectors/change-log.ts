// A source in a file, which has a log of its changes with tombstones, and can forget positions in the log.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const SDK = pathToFileURL(join(import.meta.dirname, '../../../src/sdk/index.ts')).href;

/** The connector, as the text of a module. It reads `log.json` in `folder`, and gives two rows on a page. */
export const CHANGE_LOG_CONNECTOR = `import { readFileSync } from 'node:fs';
import { defineConnector, z } from '${SDK}';
const PAGE = 2;
export default defineConnector({
  id: 'change-log',
  title: 'A log of changes',
  reads: 'changes-and-snapshot',
  options: z.strictObject({ folder: z.string().describe('The folder.') }),
  streamOptions: z.strictObject({}),
  async open({ folder }) {
    const place = (at) => ({ file: 'log.json', path: String(at) });
    return {
      async check() { return { found: 'a log' }; },
      async *pull({ mode, cursor }) {
        const { epoch, rows, changes } = JSON.parse(readFileSync(folder + '/log.json', 'utf8'));
        if (mode === 'changes' && cursor.epoch !== epoch) {
          yield { rows: [], beginAgain: 'The log has forgotten the position ' + cursor.at + '.' };
          return;
        }
        const from = mode === 'changes' ? cursor.at : 0;
        const all = mode === 'changes' ? changes : rows.map((row) => ({ row }));
        for (let at = from; at < all.length || at === from; at += PAGE) {
          const page = all.slice(at, at + PAGE).map(({ row, gone }, index) => gone === undefined
            ? { fields: row, place: place(at + index) }
            : { fields: { ID: gone }, place: place(at + index), isGone: true });
          const isLast = at + PAGE >= all.length;
          if (mode === 'changes') yield { rows: page, cursor: { epoch, at: Math.min(all.length, at + PAGE) } };
          else yield { rows: page, ...(isLast ? { cursor: { epoch, at: changes.length } } : {}) };
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
    /** How far the log goes, as a cursor of the connector. */
    end: () => ({ epoch, at: changes.length }),
  };
}
