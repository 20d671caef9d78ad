import { spawn, spawnSync } from 'node:child_process';
import { describeWhere } from '../runner/describe-where.ts';

/** Whether a process can be run under strace here, and its system calls tampered with. */
export const straceAvailable: boolean = canInject();

/** A `describe` that is skipped where nothing can be traced. */
export const describeStrace = describeWhere({
  isThere: straceAvailable,
  what: 'strace, and the right to trace: install it with `apt-get install strace`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_STRACE',
});

/** What changes a file or makes a change last. Calls of each are counted apart, from 1. */
export const DISK_CALLS = ['pwrite64', 'write', 'fsync', 'fdatasync', 'ftruncate', 'unlink', 'mkdir'] as const;
export type DiskCall = (typeof DISK_CALLS)[number];

/** What happens in place of some calls: none of them takes effect. */
export interface Injection {
  call: DiskCall;
  /** The call that it happens to, or the first and the last one. */
  when: number | readonly [first: number, last: number];
  effect: 'SIGKILL' | 'EIO';
}

export interface Traced {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface TraceOptions {
  /** Files and folders whose calls count; they need not exist yet. */
  paths: readonly string[];
  inject?: readonly Injection[];
  /** A file in which strace records the calls with all their bytes. */
  recording?: string;
  env?: Record<string, string>;
}

/** Runs Node on these arguments under strace, to its end. */
export function runTraced(args: readonly string[], options: TraceOptions): Promise<Traced> {
  const [command = '', ...traced] = straceCommand(options);
  const child = spawn(command, [...traced, process.execPath, ...args], {
    // strace counts by thread, and this one does all that Node has done beside its own.
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', UV_THREADPOOL_SIZE: '1', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killWithTests = () => child.kill('SIGTERM');
  process.once('exit', killWithTests);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode, signal) => {
      process.off('exit', killWithTests);
      resolve({ exitCode, signal, stdout, stderr });
    });
  });
}

/**
 * The beginning of a command line that runs the rest of it traced. A signal that ends the program ends strace as well, in
 * the same way; strace itself passes none on to it.
 */
export function straceCommand({ paths, inject = [], recording }: Omit<TraceOptions, 'env'>): string[] {
  const calls = recording === undefined ? DISK_CALLS : [...DISK_CALLS, 'openat'];
  return [
    'strace',
    // All threads. Not `--seccomp-bpf`, which is faster: a kernel may let a call through then that was to end the process.
    '-f',
    '-qqq',
    '-o',
    recording ?? '/dev/null',
    // Whole contents, told in one notation for text and bytes; the path of each descriptor.
    ...(recording === undefined ? [] : ['-y', '-xx', '-s', '1000000']),
    '-e',
    `trace=${calls.join(',')}`,
    '-e',
    'signal=none',
    ...paths.flatMap((path) => ['-P', path]),
    ...inject.flatMap((one) => ['-e', `inject=${injectionOf(one)}`]),
  ];
}

function injectionOf({ call, when, effect }: Injection): string {
  const calls = typeof when === 'number' ? `${when}` : `${when[0]}..${when[1]}`;
  return `${call}:${effect === 'SIGKILL' ? 'signal=SIGKILL' : `error=${effect}`}:when=${calls}`;
}

function canInject(): boolean {
  // A kill at the first write to stdout, to see that calls can be filtered, traced and tampered with.
  const args = ['-f', '-qqq', '-o', '/dev/null', '-e', 'trace=write', '-e', 'inject=write:signal=SIGKILL:when=1'];
  const { signal } = spawnSync('strace', [...args, 'echo', 'written'], { timeout: 20_000 });
  return signal === 'SIGKILL';
}
