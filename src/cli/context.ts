import type { RuntimeConfig } from '../daemon/open-source.ts';
import type { OpenedViews } from '../daemon/open-views.ts';
import type { Package } from '../daemon/package.ts';
import type { Runtime } from '../daemon/runtime.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging.ts';
import type { SecretStore } from '../lib/secrets.ts';
import type { Output } from './output.ts';

/** What every command is given. */
export interface CommandContext {
  output: Output;
  log: Logger;
  secrets: SecretStore;
  clock: Clock;
  /** This package, for its version and the files that it ships. */
  package: Package;
  /** As given by `--config`. */
  configFile: string;
  /** Loads the config, and tells its warnings. */
  loadConfig(): Promise<RuntimeConfig>;
  /** Opens everything that writes; the caller closes it. */
  openRuntime(config: RuntimeConfig, command: string): Promise<Runtime>;
  /** Looks into the ledger beside whoever writes it. `null` is handed over where there is no ledger yet. */
  withViews<T>(config: RuntimeConfig, look: (opened: OpenedViews | null) => Promise<T>): Promise<T>;
  /** From the first call on, Ctrl-C and SIGTERM abort this signal in place of ending the process. */
  interruption(): AbortSignal;
}

/** Does the work of a command and gives its exit code. What it throws is told and becomes the exit code. */
export type Action = (context: CommandContext) => Promise<number>;

/** Runs a command's action with its context. */
export type RunAction = (action: Action) => Promise<void>;
