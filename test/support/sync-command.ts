import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const LAUNCHER = join(import.meta.dirname, '../../src/launcher.mjs');

export interface CommandResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** The bin in a process of its own, with nothing of this process's environment but what Node needs. */
export function startCommand(
  args: readonly string[],
  env: Record<string, string> = {},
): { child: ChildProcess; result: Promise<CommandResult> } {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const result = once(child, 'close').then(() => ({ code: child.exitCode, signal: child.signalCode, ...output }));
  return { child, result };
}

/** Runs the bin to its end. */
export function runCommand(args: readonly string[], env: Record<string, string> = {}): Promise<CommandResult> {
  return startCommand(args, env).result;
}
