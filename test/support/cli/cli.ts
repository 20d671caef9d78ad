import { spawn } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

export interface CliResult {
  exitCode: number | null;
  /** The signal that ended the process; null if it ended by itself. */
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Parses stdout, which must be one JSON document. */
  json: () => Record<string, unknown>;
}

/** The program, run in a separate process. */
export interface CliProcess {
  /** Resolves when stdout contains the text. */
  said: (text: string) => Promise<void>;
  /** The present content of stdout. */
  output: () => string;
  signal: (name: 'SIGINT' | 'SIGTERM' | 'SIGKILL') => void;
  ended: Promise<CliResult>;
}

export interface CliOptions {
  cwd?: string;
  env?: Record<string, string>;
}

export function startCli(args: readonly string[], options: CliOptions = {}): CliProcess {
  const child = spawn(process.execPath, [join(ROOT, 'src/launcher.mjs'), ...args], {
    cwd: options.cwd ?? ROOT,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode, signal) => {
      resolve({ exitCode, signal, stdout, stderr, json: () => documentIn(stdout) });
    });
  });
  return {
    ended,
    output: () => stdout,
    signal: (name) => void child.kill(name),
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = () => stdout.includes(text) && resolve();
        child.stdout.on('data', look);
        child.on('close', () => reject(new Error(`It ended without saying "${text}".\n${stdout}\n${stderr}`)));
        look();
      }),
  };
}

export function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, options).ended;
}

/** Parses the output of a command, which must be one JSON document. */
export function documentIn(stdout: string): Record<string, unknown> {
  const lines = stdout.split('\n').filter((line) => line !== '');
  if (lines.length !== 1) throw new Error(`Expected one JSON document, found ${lines.length} lines:\n${stdout}`);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}
