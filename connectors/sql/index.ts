import { defineConnector, type StreamTarget } from '../../src/sdk/index.ts';
import type { Dialect } from './dialect.ts';
import { type Plan, planStream } from './plan.ts';
import { readChanges, readSnapshot } from './read.ts';
import { OPTIONS, type Options, STREAM_OPTIONS } from './schema.ts';
import { createSession } from './session.ts';

const COLUMNS_SHOWN = 12;

/** Databases: a query for each stream, read page by page. */
export const sql = defineConnector({
  id: 'sql',
  title: 'Databases: PostgreSQL, MySQL, MariaDB, SQL Server, SQLite',
  reads: (_options, { watermark }) => (watermark === undefined ? 'snapshot' : 'changes-and-snapshot'),
  fixedColumns: true,
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  async open(options, host) {
    const dialect = await loadDialect(options.dialect);
    const session = createSession({ dialect, options, resolvePath: (path) => host.resolvePath(path) });
    return {
      async check(stream) {
        const plan = await planStream(stream, { dialect, session });
        const names = announceColumns(plan, stream);
        const more = names.length > COLUMNS_SHOWN ? ', …' : '';
        return { found: `a query with columns ${names.slice(0, COLUMNS_SHOWN).join(', ')}${more}`, columns: names };
      },
      async *pull({ mode, cursor, ...stream }) {
        const plan = await planStream(stream, { dialect, session });
        announceColumns(plan, stream);
        const { overlap } = stream.options;
        const read = { stream: stream.name, plan, session, signal: stream.signal, overlap };
        if (mode === 'snapshot' || plan.watermark === null) yield* readSnapshot(read);
        else yield* readChanges(read, { watermark: plan.watermark, from: cursor });
      },
      close: () => session.close(),
    };
  },
});

/** Passes on the names of the columns, and returns them. */
function announceColumns({ columns }: Plan, { name, onColumns }: StreamTarget<unknown>): string[] {
  const names = columns.map((column) => column.name);
  onColumns?.({ names, where: name });
  return names;
}

/** Loads a dialect with its driver. Unused drivers are not loaded. */
export async function loadDialect(name: Options['dialect']): Promise<Dialect> {
  switch (name) {
    case 'postgresql':
      return (await import('./postgresql.ts')).postgresql;
    case 'mysql':
    case 'mariadb':
      return (await import('./mysql.ts')).mysql;
    case 'sqlserver':
      return (await import('./sqlserver.ts')).sqlserver;
    case 'sqlite':
      return (await import('./sqlite.ts')).sqlite;
  }
}
