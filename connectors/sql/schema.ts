import { installCommandOf, secret, z } from '../../src/sdk/index.ts';

export const OPTIONS = z
  .strictObject({
    dialect: z
      .enum(['postgresql', 'mysql', 'mariadb', 'sqlserver', 'sqlite'])
      .describe('The kind of database. `mysql` and `mariadb` mean the same.'),
    host: z
      .string()
      .min(1)
      .optional()
      .describe('The name or address of the server; required for every dialect but `sqlite`.'),
    port: z.int().min(1).max(65_535).optional().describe('The port of the server, where it is not the usual one.'),
    database: z
      .string()
      .min(1)
      .optional()
      .describe('The name of the database; required for every dialect but `sqlite`.'),
    user: z
      .string()
      .min(1)
      .optional()
      .describe('The user, who needs only the right to read; required for every dialect but `sqlite`.'),
    password: secret().optional().describe('The password of the user.'),
    file: z
      .string()
      .min(1)
      .optional()
      .describe(
        'The database file, relative to the config file; required for `sqlite`. It is opened for reading only.',
      ),
    tls: z
      .enum(['verify', 'off'])
      .optional()
      .describe(
        '`verify`: with TLS, and the certificate and the name of the server are verified. `off`: without TLS, so others on the network can read the data. The default is `verify`, except for a server on this machine.',
      ),
    ca: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Certificates in PEM form that are trusted instead of the usual ones, such as `${file:/etc/ssl/erp-ca.pem}`.',
      ),
    connectMs: z
      .int()
      .min(100)
      .max(600_000)
      .default(10_000)
      .describe('How long connecting and logging in may take, in milliseconds. A statement waits as long for a lock.'),
    statementMs: z
      .int()
      .min(100)
      .max(86_400_000)
      .default(300_000)
      .describe(
        'How long one statement may take, in milliseconds. A read has a statement for each page. The server ends a statement that takes longer. If the server does not answer, dpp-sync gives up five seconds later.',
      ),
  })
  .refine(({ dialect, file }) => (dialect === 'sqlite') === (file !== undefined), {
    path: ['file'],
    error: 'a `file` for the dialect sqlite, and for no other',
  })
  .refine(({ dialect, host, database, user }) => dialect === 'sqlite' || (host && database && user), {
    path: ['host'],
    error: '`host`, `database` and `user` for every dialect but sqlite',
  })
  .superRefine(({ dialect }, context) => {
    const command = dialect === 'sqlserver' ? installCommandOf('mssql') : null;
    if (command === null) return;
    const message = `The package mssql, which reads SQL Server, is not installed. Run \`${command}\` where dpp-sync is installed.`;
    context.addIssue({ code: 'custom', path: ['dialect'], message });
  });
export type Options = z.infer<typeof OPTIONS>;

const COLUMN = z.string().min(1);

export const STREAM_OPTIONS = z
  .strictObject({
    query: z
      .string()
      .min(1)
      .describe(
        'The `SELECT` statement that gives the rows. It becomes a part of another statement, so each column needs a name of its own. It must not have an `ORDER BY`, because dpp-sync sorts the rows by `page`.',
      ),
    page: z
      .array(COLUMN)
      .min(1)
      .max(8)
      .describe(
        'The columns of the query that together identify a row and are never `NULL`. The rows are read page by page in the order of these columns, so an index on the columns makes reads fast.',
      ),
    watermark: COLUMN.optional().describe(
      'A column that grows with every change of a row, such as `updated_at` or a version number. With a watermark a read gives only changed rows. All rows are read again after `snapshotEvery` of the source.',
    ),
    overlap: z
      .int()
      .min(0)
      .default(300)
      .describe(
        'How far before the last watermark a read of changes begins, so that it finds transactions that were committed late. The unit is seconds if the watermark is a time or a date. A date is moved back by whole days, at least by one. For any other watermark the number is subtracted from the watermark.',
      ),
    json: z
      .array(COLUMN)
      .default([])
      .describe('Text columns that contain JSON, for databases without a type for JSON (SQLite, MariaDB, SQL Server).'),
  })
  .refine(({ page, watermark }) => page.some((name) => name !== watermark), {
    path: ['page'],
    error: 'a column besides the watermark, since several rows can change at one instant',
  })
  .refine(({ page }) => new Set(page).size === page.length, { path: ['page'], error: 'each column once' });
export type StreamOptions = z.infer<typeof STREAM_OPTIONS>;
