// The servers through which people and programs reach a daemon. The daemon receives the functions that open the
// servers, so that it does not depend on their code.

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { DaemonView } from '../operations/runtime.ts';
import type { Observed } from './observe-daemon.ts';
import type { DaemonCare, Runtime } from './runtime.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** A server through which people and programs observe and control the daemon. */
export interface WebServer {
  /** The address of the server, such as `http://127.0.0.1:4280`. */
  url: string;
  /**
   * Uses the token, the users and the allowed hosts of a config that was read again. Sessions of changed users end. A
   * changed address or port needs a restart.
   *
   * @throws Fault `config.invalid` when the token is gone; then the former credentials stay
   */
  renew(web: NonNullable<RuntimeConfig['web']>): Promise<void>;
  close(): Promise<void>;
}

/** The data of a daemon that the web server shows, and the requests that it passes on to the daemon. */
export interface WebContext extends Observed {
  runtime: Runtime;
  care: DaemonCare;
  /**
   * Asks the API again if it refuses the key, the plan or a scope, because a person may have corrected this meanwhile.
   */
  askRefused(): Promise<void>;
  startedAt: number;
  version: string;
  clock: Clock;
  log: Logger;
}

/** Opens the web server of the config's `web` section. */
export type OpenWeb = (context: WebContext, web: NonNullable<RuntimeConfig['web']>) => Promise<WebServer>;

/** Serves commands that run beside the daemon. */
export interface AdminServer {
  /** Accepts no new commands, interrupts the running ones, and sends each watcher its last frame. */
  close(): Promise<void>;
}

export interface AdminContext {
  runtime: Runtime;
  clock: Clock;
  log: Logger;
  version: string;
  /**
   * Asks the API again if it refuses the key, the plan or a scope, because a person may have corrected this before the
   * command.
   */
  askRefused: () => Promise<void>;
  /** What the daemon shows about itself; null for a daemon that is not observed. */
  daemon: DaemonView | null;
}

/** Opens the admin channel, through which commands ask the daemon for work on its ledger. */
export type OpenAdmin = (context: AdminContext) => Promise<AdminServer>;
