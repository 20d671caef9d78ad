import type { Dialect } from './dialect.ts';
import type { Options } from './schema.ts';

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
