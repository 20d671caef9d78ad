import type { ApiClient } from '../api/api-client.ts';
import { formatProblem } from '../config/problem.ts';
import { loadRuntimeConfig } from '../daemon/load.ts';
import type { RuntimeConfig } from '../daemon/open-source.ts';
import { type OpenedViews, openViews } from '../daemon/open-views.ts';
import type { Runtime } from '../daemon/runtime.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import type { LogLevel } from '../lib/log-levels.ts';
import { createLogger, type Logger } from '../lib/logging.ts';
import type { Package } from '../lib/package.ts';
import type { SecretStore } from '../lib/secrets.ts';
import { type Interruption, interruptible } from './interruption.ts';
import { formatLogLine } from './log-line.ts';
import type { Output } from './output.ts';
import { printable } from './style.ts';

/** What every command is given. */
export interface CommandContext {
  output: Output;
  log: Logger;
  secrets: SecretStore;
  clock: Clock;
  /** This package, for its version and the files that it ships. */
  package: Package;
  /** Loads the config that `--config` names, and tells its warnings. */
  loadConfig(): Promise<RuntimeConfig>;
  /** Opens everything that writes; the caller closes it. */
  openRuntime(config: RuntimeConfig, command: string): Promise<Runtime>;
  /** Looks into the ledger beside whoever writes it. `null` is handed over where there is no ledger yet. */
  withViews<T>(config: RuntimeConfig, look: (opened: OpenedViews | null) => Promise<T>): Promise<T>;
  /** Talks to the API beside whoever works on the ledger. */
  withClient<T>(config: RuntimeConfig, talk: (client: ApiClient) => Promise<T>): Promise<T>;
  /** From the first call on, Ctrl-C, SIGTERM and SIGHUP abort this signal in place of ending the process. */
  interruption(): AbortSignal;
}

/** Does the work of a command and gives its exit code. What it throws is told and becomes the exit code. */
export type Action = (context: CommandContext) => Promise<number>;

/** Runs a command's action with its context. */
export type RunAction = (action: Action) => Promise<void>;

/** Within the half minute that supervisors commonly give, and longer than the daemon gives itself. */
const DRAIN_MS = 28_000;
const SHOW_CURSOR = '\u001b[?25h';

/** A context, and what its owner does with it at the end. */
export interface OwnedContext {
  context: CommandContext;
  /** True for the error by which somebody who was reading or asking has obeyed an interruption. */
  wasStopped(error: unknown): boolean;
  dispose(): void;
}

export function createContext(options: {
  output: Output;
  secrets: SecretStore;
  package: Package;
  configFile: string;
  level: LogLevel;
}): OwnedContext {
  const { output, secrets, configFile, level } = options;
  const clock = systemClock;
  const write = (line: string): void => output.log(output.watched ? formatLogLine(line) : line.trimEnd());
  const log = createLogger({ level, secrets, write });
  let interruption: Interruption | null = null;

  const context: CommandContext = {
    output,
    log,
    secrets,
    clock,
    package: options.package,
    async loadConfig() {
      const config = await loadRuntimeConfig(configFile, secrets);
      for (const warning of config.warnings) output.note(`warning: ${printable(formatProblem(warning))}`);
      return config;
    },
    async openRuntime(config, command) {
      // Loaded by those who need it: queue and API client take longer to load than all that a listing needs.
      const { openRuntime } = await import('../daemon/runtime.ts');
      const { version } = options.package;
      return openRuntime({ config, command, showFailedJobs: false, secrets, clock, log, version });
    },
    async withViews(config, look) {
      const opened = openViews(config);
      try {
        return await look(opened);
      } finally {
        opened?.close();
      }
    },
    async withClient(config, talk) {
      const { openClient } = await import('../daemon/open-client.ts');
      const { version } = options.package;
      const client = openClient(config, { secrets, clock, log, version });
      try {
        return await talk(client);
      } finally {
        await client.close();
      }
    },
    interruption() {
      const end = (): never => {
        if (output.watched) process.stderr.write(SHOW_CURSOR);
        process.exit(1);
      };
      interruption ??= interruptible({
        onFirst: () =>
          output.note('Stopping: what is under way is finished first. Press Ctrl-C again to stop at once.'),
        onSecond: end,
        drainMs: DRAIN_MS,
        onLate() {
          output.error('Not everything ended in time. What has no answer yet is looked up the next time.');
          end();
        },
      });
      return interruption.signal;
    },
  };
  return {
    context,
    wasStopped: (error) =>
      interruption?.signal.aborted === true && error instanceof Error && error.name === 'AbortError',
    dispose: () => interruption?.dispose(),
  };
}
