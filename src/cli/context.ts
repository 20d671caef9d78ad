import { closeSync, constants, existsSync, openSync } from 'node:fs';
import type { Command } from 'commander';
import type { Admin } from '../admin/local-admin.ts';
import type { ApiClient } from '../api/api-client.ts';
import type { LedgerNeeds, MappingNeeds, Needs, SourceNeeds } from '../config/interpolate.ts';
import type { LedgerConfig, MappingsConfig } from '../config/loaded-config.ts';
import { formatProblem } from '../config/problem.ts';
import { loadConfigOfLedger, loadConfigOfMappings, loadRuntimeConfig } from '../daemon/load.ts';
import { type OpenedViews, openViews } from '../daemon/open-reads.ts';
import type { Runtime } from '../daemon/runtime.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { fault } from '../domain/faults.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { Fault } from '../lib/errors.ts';
import type { Logger, LogLevel } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import type { Package } from '../lib/package.ts';
import type { Operation } from '../operations/operation.ts';
import type { PlatformContext } from '../operations/runtime.ts';
import type { Output } from './text/output.ts';
import { formatLogLine, printable } from './text/style.ts';

/** The context of every command. */
export interface CommandContext {
  output: Output;
  /** Loads the logger. Only work that can log does this, because loading the logger takes longer than running `items`. */
  log: () => Promise<Logger>;
  secrets: SecretStore;
  clock: Clock;
  /** This package, for its version and the files that it ships. */
  package: Package;
  /** The config file that `--config` names. */
  configFile: string;
  /**
   * Loads the config that `--config` names, and prints its warnings.
   *
   * @param needs `ledger` for a command that only reads the ledger. It needs no secret, and gets no `web` section.
   *   `mappings` for a command that only maps rows which it is given
   */
  loadConfig(needs: LedgerNeeds): Promise<LedgerConfig>;
  loadConfig(needs: MappingNeeds): Promise<MappingsConfig>;
  loadConfig(needs?: SourceNeeds): Promise<RuntimeConfig>;
  /** Opens the ledger, the queue and the API client for writing. The caller closes them. */
  openRuntime(config: RuntimeConfig, command: string): Promise<Runtime>;
  /**
   * Runs operations in the process that holds the ledger. Everything that it opens is closed at the end.
   *
   * @param command names the holder of the ledger to other processes
   */
  withAdmin<T>(config: RuntimeConfig, command: string, use: (admin: Admin) => Promise<T>): Promise<T>;
  /**
   * Runs operations that only send requests to the platform. If a daemon holds the ledger, they run in the daemon.
   * Otherwise they run in this process, even if another process holds the ledger.
   */
  withPlatform<T>(
    config: RuntimeConfig,
    command: string,
    use: (admin: Admin<PlatformContext>) => Promise<T>,
  ): Promise<T>;
  /**
   * Runs an operation that only reads in the daemon. Null if no daemon of this version and target answers soon. Prints a
   * warning if the daemon that has answered works with another config.
   */
  lookInDaemon<Asked, Result>(
    config: LedgerConfig,
    operation: Operation<Asked, Result>,
    asked: Asked,
  ): Promise<Result | null>;
  /** Reads the ledger while another process may write it. `look` gets null if there is no ledger yet. */
  withViews<T>(config: LedgerConfig, look: (opened: OpenedViews | null) => Promise<T>): Promise<T>;
  /** Sends requests to the API while another process may hold the ledger. */
  withClient<T>(config: RuntimeConfig, talk: (client: ApiClient) => Promise<T>): Promise<T>;
  /**
   * From the first call on, Ctrl-C, SIGTERM and SIGHUP abort this signal and do not end the process.
   *
   * @param onHangup what SIGHUP does if the process has no terminal that could be closed
   */
  interruption(onHangup?: () => void): AbortSignal;
}

/**
 * Does the work of a command and returns its exit code. An error that it throws is printed, and determines the exit
 * code.
 */
export type Action = (context: CommandContext) => Promise<number>;

/** Runs a command's action with its context. */
export type RunAction = (action: Action) => Promise<void>;

/** Loads the command line with all commands in full, which has to load the packages of all commands. */
export type LoadedProgram = () => Promise<Command>;

/** Shorter than the half minute that supervisors commonly allow, and longer than the daemon's own limit. */
const DRAIN_MS = 28_000;
/** A daemon that does not begin to answer a look within this time, such as a stopped process, counts as none. */
const LOOK_BEGINS_WITHIN_MS = 2000;
/** More than twice the interval at which a daemon sends frames while it works on the answer. */
const LOOK_SILENT_MS = 12_000;
const SHOW_CURSOR = '\u001b[?25h';

/** Returns the fault if another process holds the ledger. */
async function openUnlessLocked(
  context: CommandContext,
  config: RuntimeConfig,
  command: string,
): Promise<Runtime | Fault> {
  try {
    return await context.openRuntime(config, command);
  } catch (error) {
    if (error instanceof Fault && error.code === 'ledger.held') return error;
    throw error;
  }
}

/** A context with the functions that its owner calls at the end. */
export function createContext(options: {
  output: Output;
  secrets: SecretStore;
  package: Package;
  configFile: string;
  level: LogLevel;
}) {
  const { output, secrets, configFile, level } = options;
  const clock = systemClock;
  const write = (line: string): void =>
    output.log(output.watched && !output.json ? formatLogLine(line) : line.trimEnd());
  let interruption: Interruption | null = null;
  /** While a daemon does the work, an interruption only ends the display of its progress. */
  let isWatching = false;
  const onOtherConfig = (): void =>
    output.note(
      'warning: The config has changed, and the daemon still works with the former one. `dpp-sync status` shows whether the daemon has refused the change.',
    );
  const noteOtherConfigOfLook = (): void =>
    output.note(
      `warning: The daemon works with another config than ${printable(configFile)}, and this answer is about the config of the daemon. A source that only ${printable(configFile)} has is not listed. If you have changed the config, the daemon has not loaded the change yet, or has refused it.`,
    );

  async function log(): Promise<Logger> {
    const { createLogger } = await import('../lib/logging/logging.ts');
    return createLogger({ level, secrets, write });
  }

  async function loaded(needs: Needs | undefined): Promise<MappingsConfig> {
    if (needs === 'mappings') return loadConfigOfMappings(configFile, secrets);
    if (needs === 'ledger' || needs === 'ledger_and_queue') return loadConfigOfLedger(configFile, secrets, needs);
    return loadRuntimeConfig(configFile, secrets, needs);
  }

  function loadConfig(needs: LedgerNeeds): Promise<LedgerConfig>;
  function loadConfig(needs: MappingNeeds): Promise<MappingsConfig>;
  function loadConfig(needs?: SourceNeeds): Promise<RuntimeConfig>;
  async function loadConfig(needs?: Needs): Promise<MappingsConfig> {
    const config = await loaded(needs);
    for (const warning of config.warnings) output.note(`warning: ${printable(formatProblem(warning))}`);
    return config;
  }

  /**
   * Returns an `Admin` that runs operations in the daemon of a config's ledger, or the reason why a daemon that may be there cannot
   * be reached.
   */
  async function askDaemon(config: RuntimeConfig, command: string): Promise<{ admin: Admin } | { why: string | null }> {
    const { createChannelClient, reachDaemon } = await import('../admin/channel-client.ts');
    const reach = await reachDaemon(config);
    if (!reach.reachable) return reach;
    isWatching = true;
    const { version } = options.package;
    const signal = context.interruption();
    return { admin: createChannelClient({ config, version, command, signal, onOtherConfig }) };
  }

  const context: CommandContext = {
    output,
    log,
    secrets,
    clock,
    package: options.package,
    configFile,
    loadConfig,
    async openRuntime(config, command) {
      // This is loaded only for commands that need it, because loading the queue and the API client takes longer than
      // running `items`.
      const { openRuntime } = await import('../daemon/runtime.ts');
      const { version } = options.package;
      // A command logs only warnings, and people have to see an upgrade.
      const reportUpgrade = (_fields: object, message: string) => output.note(printable(message));
      return openRuntime({
        config,
        command,
        showFailedJobs: false,
        secrets,
        clock,
        log: await log(),
        version,
        reportUpgrade,
      });
    },
    async withAdmin(config, command, use) {
      const abort = context.interruption();
      // The daemon is asked first, because this needs no part of the runtime.
      const asked = await askDaemon(config, command);
      if ('admin' in asked) return use(asked.admin);
      const opened = await openUnlessLocked(context, config, command);
      if (opened instanceof Fault) {
        // A daemon may have begun to listen meanwhile, so it is asked again.
        const again = await askDaemon(config, command);
        if ('admin' in again) return use(again.admin);
        const suggestion = [again.why, opened.suggestion].filter(Boolean).join(' ');
        throw fault('ledger.held', opened.message, { path: 'ledger', cause: opened, suggestion });
      }
      const { createLocalAdmin } = await import('../admin/local-admin.ts');
      try {
        return await use(createLocalAdmin({ runtime: opened, clock, abort }));
      } finally {
        await opened.close();
      }
    },
    async withPlatform(config, command, use) {
      const abort = context.interruption();
      const asked = await askDaemon(config, command);
      if ('admin' in asked) return use(asked.admin);
      const { createPlatformAdmin } = await import('../admin/local-admin.ts');
      return context.withClient(config, ({ target, reader }) =>
        use(createPlatformAdmin({ platform: { ...reader, list: (...request) => target.list(...request) }, abort })),
      );
    },
    async lookInDaemon(config, operation, asked) {
      if (!existsSync(config.ledger)) return null;
      const { socketPlace } = await import('../admin/wire.ts');
      if (!existsSync(socketPlace(config).path)) return null;
      const { createChannelClient, reachDaemon } = await import('../admin/channel-client.ts');
      if (!(await reachDaemon(config)).reachable) return null;
      const { version } = options.package;
      const { signal } = new AbortController();
      let isOtherConfig = false;
      const onOtherConfig = () => {
        isOtherConfig = true;
      };
      const of = { config, version, command: operation.name, signal, onOtherConfig };
      const limits = { beginsWithinMs: LOOK_BEGINS_WITHIN_MS, silentMs: LOOK_SILENT_MS };
      const result = await createChannelClient({ ...of, ...limits })
        .run(operation, asked)
        .catch(() => null);
      // Without an answer of the daemon, the command reads with the config that was loaded here.
      if (result !== null && isOtherConfig) noteOtherConfigOfLook();
      return result;
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
      const { openClient, openGate } = await import('../daemon/open-client.ts');
      const { version } = options.package;
      const pacing = openGate(config, { clock });
      const client = openClient(config, { secrets, clock, log: await log(), version, pacing });
      try {
        return await talk(client);
      } finally {
        await client.close();
      }
    },
    interruption(onHangup) {
      interruption ??= beginInterruptible(output, () => isWatching, hasTerminal() ? undefined : onHangup);
      return interruption.signal;
    },
  };
  return {
    context,
    /** True if an interruption has caused this error, because it aborted a read or a question to the user. */
    wasStopped: (error: unknown): boolean =>
      interruption?.signal.aborted === true && error instanceof Error && error.name === 'AbortError',
    dispose: (): void => interruption?.dispose(),
  };
}

/** @param isWatching true while a daemon works: then an interruption only ends the display of its progress */
function beginInterruptible(
  output: Output,
  isWatching: () => boolean,
  onHangup: (() => void) | undefined,
): Interruption {
  const end = (): never => {
    if (output.watched) process.stderr.write(SHOW_CURSOR);
    process.exit(1);
  };
  return interruptible({
    onHangup,
    onFirst() {
      if (isWatching()) return;
      output.note('Stopping: work in progress is finished first. Press Ctrl-C again to stop at once.');
    },
    onSecond: end,
    drainMs: DRAIN_MS,
    onLate() {
      output.error('Some work did not end in time. The next sync looks up the requests that have no answer.');
      end();
    },
  });
}

/** A request to stop: Ctrl-C, a service manager, or a terminal that closes. */
export interface Interruption {
  signal: AbortSignal;
  /** Restores the usual effect of the signals. */
  dispose(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * npm passes on a Ctrl-C that the terminal has already delivered. A second signal within this time is the same key
 * press.
 */
const SAME_PRESS_MS = 500;

export interface InterruptionOptions {
  onFirst: () => void;
  /** The effect of SIGHUP in a process without a terminal. If undefined, SIGHUP stops the process like SIGTERM. */
  onHangup?: (() => void) | undefined;
  /** Ends the process. */
  onSecond: () => void;
  /** How long the work in progress may take to end. */
  drainMs: number;
  /** Called if the work has not ended by then. Ends the process. */
  onLate: () => void;
}

/**
 * Turns the first SIGINT, SIGTERM or SIGHUP into an abort, so that work in flight can be finished. The process ends at once
 * after a second SIGINT or SIGTERM, or when `drainMs` are over. Nothing is lost then, because a delivery is in the ledger before
 * its first byte is sent. A second SIGHUP changes nothing: a terminal that closes sends one, and its shell may send
 * another one later.
 */
export function interruptible({ onFirst, onHangup, onSecond, drainMs, onLate }: InterruptionOptions): Interruption {
  const controller = new AbortController();
  let firstAt = 0;
  let late: NodeJS.Timeout | undefined;
  const handle = (name: NodeJS.Signals): void => {
    if (name === 'SIGHUP' && onHangup !== undefined) {
      onHangup();
      return;
    }
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      late = setTimeout(onLate, drainMs).unref();
      onFirst();
      controller.abort();
    } else if (name !== 'SIGHUP' && performance.now() - firstAt > SAME_PRESS_MS) {
      onSecond();
    }
  };
  for (const name of SIGNALS) process.on(name, handle);
  return {
    signal: controller.signal,
    dispose() {
      clearTimeout(late);
      for (const name of SIGNALS) process.off(name, handle);
    },
  };
}

/**
 * True if the process has a controlling terminal. Only then SIGHUP means that a terminal was closed. Call this at the
 * start, because a closed terminal cannot be opened any more.
 */
function hasTerminal(): boolean {
  // Windows sends SIGHUP for a console that is closed, and for no other reason.
  if (process.platform === 'win32') return true;
  try {
    closeSync(openSync('/dev/tty', constants.O_RDWR | constants.O_NOCTTY));
    return true;
  } catch {
    return false;
  }
}
