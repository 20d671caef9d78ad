import type { JsonObject } from '../../../src/sdk/index.ts';

/** A database server of a test, with a user `reader` who may read everything. */
export interface DatabaseServer {
  dialect: 'postgresql' | 'mariadb' | 'mysql' | 'sqlserver';
  port: number;
  /** The certificate of the authority that has signed the certificate of the server. */
  ca: string;
  /** The password of `reader`. */
  password: string;
  /** The options of a source that logs in as `reader`. */
  options: JsonObject;
  /** Runs a statement as the owner. */
  run: (text: string) => Promise<void>;
  /** Runs a query as the owner. Returns its rows. */
  ask: (text: string) => Promise<unknown[][]>;
  /** Ends all connections of `reader`. */
  endConnections: () => Promise<void>;
  /** Kills the server. */
  kill: () => Promise<void>;
  stop: () => Promise<void>;
}
