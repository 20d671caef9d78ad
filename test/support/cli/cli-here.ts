import { PassThrough } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { runCli } from '../../../src/cli/run.ts';
import { type CliResult, documentIn } from './cli.ts';

/**
 * Runs a command line in this process, which is much faster than a separate process. Use it for commands that end by
 * themselves, ask no questions and run no workers.
 */
export async function runHere(args: readonly string[]): Promise<CliResult> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const texts = Promise.all([textOf(stdout), textOf(stderr)]);
  const exitCode = await runCli(args, { stdout, stderr });
  stdout.end();
  stderr.end();
  const [out, err] = await texts;
  return { exitCode, signal: null, stdout: out, stderr: err, json: () => documentIn(out) };
}
