import { type Command, CommanderError } from 'commander';
import { processEnvironment } from '../config/environment.ts';
import { fault } from '../domain/faults.ts';
import type { LogLevel } from '../lib/logging/logging.ts';
import { createSecretStore } from '../lib/logging/secrets.ts';
import { findPackage } from '../lib/package.ts';
import type { Action } from './context.ts';
import { failureDocument, failureLines, failureOf, stackOf } from './errors.ts';
import { commandHere, DEFAULT_CONFIG } from './own-command.ts';
import { createProgram, type Globals, helpFor } from './program.ts';
import { createOutput, type OutputOptions } from './text/output.ts';

/** The streams to which a command line writes. */
export type Streams = Pick<OutputOptions, 'stdout' | 'stderr'>;

/**
 * Runs one command line and returns its exit code. Everything that it has opened is closed when it resolves.
 *
 * @param argv the arguments without the name of the program
 * @param streams the streams for the output; by default those of this process
 */
export async function runCli(argv: readonly string[], streams: Streams = process): Promise<number> {
  const { stdout, stderr } = streams;
  const secrets = createSecretStore();
  const given = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  const env = processEnvironment();
  const installed = findPackage();
  let configFile: string | null = null;
  let command: string | null = null;
  const ownStart = () => ({ command: (command ??= commandHere(installed.root, env)), configFile });
  // The form of the output is known before the command line is parsed, because a mistake in the command line is
  // reported in that form.
  const output = createOutput({
    stdout,
    stderr,
    env,
    secrets,
    json: given.includes('--json'),
    quiet: given.includes('--quiet') || given.includes('-q'),
    ownStart,
  });
  let exitCode = 0;
  let isDone = false;
  let level: LogLevel = 'warn';
  let program: Command | null = null;

  const fail = (error: unknown): void => {
    const failure = failureOf(error, program === null ? undefined : helpFor(program, argv));
    exitCode = failure.exitCode;
    if (output.json) output.document(failureDocument(failure));
    output.error(failureLines(failure).join('\n'));
    if (level === 'debug' || level === 'trace') output.error(stackOf(error));
  };
  // The listener stays until the process ends, so that errors of the last output are scrubbed as well (I7).
  if (streams === process) {
    process.once('uncaughtException', (error) => {
      fail(error);
      process.exit(exitCode);
    });
    process.once('exit', (code) => {
      if (isDone || (code !== 0 && code !== UNSETTLED)) return;
      fail(new Error('The process ended before the command was done. A connector or a module may have ended it.'));
      process.exitCode = exitCode;
    });
  }

  async function run(action: Action, globals: Globals, defaultLevel: LogLevel): Promise<void> {
    level = globals.logLevel ?? defaultLevel;
    configFile = globals.config === DEFAULT_CONFIG ? null : globals.config;
    // This is loaded only for commands, because help does not need it.
    const { createContext } = await import('./context.ts');
    const owned = createContext({ output, secrets, package: installed, configFile: globals.config, level });
    try {
      exitCode = await action(owned.context);
    } catch (error) {
      fail(owned.wasStopped(error) ? fault('interrupted', 'The command was stopped before its work was done.') : error);
    } finally {
      owned.dispose();
    }
  }

  try {
    program = await createProgram({ version: installed.version, stdout, stderr, ownStart, argv, run });
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    // commander also throws after it has shown help or the version.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) fail(error);
  }
  isDone = true;
  return exitCode;
}

/** The exit code of Node if nothing is left that could end the wait of the main module. */
const UNSETTLED = 13;
