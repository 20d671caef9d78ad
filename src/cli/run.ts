import { CommanderError } from 'commander';
import { processEnvironment } from '../config/environment.ts';
import { formatProblem } from '../config/problem.ts';
import { loadRuntimeConfig } from '../daemon/load.ts';
import { openViews } from '../daemon/open-views.ts';
import { findPackage } from '../daemon/package.ts';
import { fault } from '../domain/faults.ts';
import { systemClock } from '../lib/clock.ts';
import { createLogger, type LogLevel } from '../lib/logging.ts';
import { createSecretStore } from '../lib/secrets.ts';
import type { Action, CommandContext } from './context.ts';
import { type Failure, failureDocument, failureLines, failureOf, stackOf } from './errors.ts';
import { type Interruption, interruptible } from './interruption.ts';
import { formatLogLine } from './log-line.ts';
import { createOutput, type Output } from './output.ts';
import { createProgram, type Globals } from './program.ts';
import { printable } from './style.ts';

/** What ends a line that hides the cursor, however the process ends. */
const SHOW_CURSOR = '\u001b[?25h';

/**
 * Runs one command line and gives its exit code. Everything that it opens is closed when it resolves.
 *
 * @param argv without the program's own name
 */
export async function runCli(argv: readonly string[]): Promise<number> {
  const secrets = createSecretStore();
  const given = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  // Known before the command line is parsed, since a mistake in it has to be told in the form that was asked for.
  const output = createOutput({
    stdout: process.stdout,
    stderr: process.stderr,
    env: processEnvironment(),
    secrets,
    json: given.includes('--json'),
    quiet: given.includes('--quiet') || given.includes('-q'),
  });
  const found = findPackage();
  let exitCode = 0;
  let level: LogLevel = 'warn';

  const fail = (error: unknown): void => {
    const failure = failureOf(error);
    exitCode = failure.exitCode;
    tellFailure(failure, output);
    if (level === 'debug' || level === 'trace') output.error(stackOf(error));
  };

  process.once('uncaughtException', (error) => {
    fail(error);
    process.exit(exitCode);
  });

  async function run(action: Action, globals: Globals, defaultLevel: LogLevel): Promise<void> {
    level = globals.logLevel ?? defaultLevel;
    let interruption: Interruption | null = null;
    const log = createLogger({
      level,
      secrets,
      write: (line) => output.log(output.watched ? formatLogLine(line) : line.trimEnd()),
    });
    const context: CommandContext = {
      output,
      log,
      secrets,
      clock: systemClock,
      package: found,
      configFile: globals.config,
      async loadConfig() {
        const config = await loadRuntimeConfig(globals.config, secrets);
        for (const warning of config.warnings) output.note(`warning: ${printable(formatProblem(warning))}`);
        return config;
      },
      async openRuntime(config, command) {
        // Loaded by those who need it: half of the time that a command takes to begin goes into queue, API client and web.
        const { openRuntime } = await import('../daemon/runtime.ts');
        const { version } = found;
        return openRuntime({ config, command, showFailedJobs: false, secrets, clock: systemClock, log, version });
      },
      async withViews(config, look) {
        const opened = openViews(config);
        try {
          return await look(opened);
        } finally {
          opened?.close();
        }
      },
      interruption() {
        interruption ??= interruptible(
          () => output.note('Stopping: what is under way is finished first. Press Ctrl-C again to stop at once.'),
          () => {
            if (output.watched) process.stderr.write(SHOW_CURSOR);
            process.exit(1);
          },
        );
        return interruption.signal;
      },
    };
    try {
      exitCode = await action(context);
    } catch (error) {
      const stopped = wasStopped(interruption, error);
      fail(stopped ? fault('interrupted', 'Stopped before it was done.') : error);
    } finally {
      interruption?.dispose();
    }
  }

  const program = createProgram({ version: found.version, output, run });
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    // Help and the version are asked for by an exception as well.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) fail(error);
  }
  return exitCode;
}

/** True for the error by which whoever was reading or asking has obeyed the interruption. */
function wasStopped(interruption: Interruption | null, error: unknown): boolean {
  return interruption?.signal.aborted === true && error instanceof Error && error.name === 'AbortError';
}

function tellFailure(failure: Failure, output: Output): void {
  if (output.json) output.document(failureDocument(failure));
  for (const line of failureLines(failure)) output.error(line);
}
