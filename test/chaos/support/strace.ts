import { spawn, spawnSync } from 'node:child_process';
import { describeWhere } from '../../support/runner/describe-where.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';

/** True if strace can run a process here and change its system calls. */
export const straceAvailable: boolean = canInject();

/** A `describe` that is skipped if strace cannot be used. */
export const describeStrace = describeWhere({
  isThere: straceAvailable,
  what: 'strace, and the right to trace: install it with `apt-get install strace`',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_STRACE',
});

/** The calls that change a file, or make a change durable. The calls of each name are counted separately, from 1. */
export const DISK_CALLS = ['pwrite64', 'write', 'fsync', 'fdatasync', 'ftruncate', 'unlink', 'mkdir'] as const;
export type DiskCall = (typeof DISK_CALLS)[number];

/** A replacement for some calls: none of these calls takes effect. */
export interface Injection {
  call: DiskCall;
  /** The number of the replaced call, or of the first and the last one. */
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
  /** Files and folders whose calls count. They do not have to exist yet. */
  paths: readonly string[];
  inject?: readonly Injection[];
  /** A file in which strace records the calls with all their bytes. */
  recording?: string;
  env?: Record<string, string>;
}

/** Runs Node with these arguments under strace, until Node ends. */
export function runTraced(args: readonly string[], options: TraceOptions): Promise<Traced> {
  const [command = '', ...traced] = straceCommand(options);
  const child = spawn(command, [...traced, process.execPath, ...args], {
    // strace counts the calls of each thread separately. With a pool of one thread, one thread does all of Node's
    // background work.
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
 * The beginning of a command line that runs the following program under strace. A signal that ends the program ends
 * strace in the same way. strace itself passes no signals to the program.
 */
export function straceCommand({ paths, inject = [], recording }: Omit<TraceOptions, 'env'>): string[] {
  const calls = recording === undefined ? DISK_CALLS : [...DISK_CALLS, 'openat'];
  return [
    'strace',
    // All threads. Not with `--seccomp-bpf`, which is faster: with it a kernel may let a call pass that should end the
    // process.
    '-f',
    '-qqq',
    '-o',
    recording ?? '/dev/null',
    // Records whole contents, text and bytes in the same notation, and the path of each descriptor.
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
  // Tries to kill a program at its first write to stdout. That shows whether strace can filter, trace and change calls
  // here.
  const args = ['-f', '-qqq', '-o', '/dev/null', '-e', 'trace=write', '-e', 'inject=write:signal=SIGKILL:when=1'];
  const { signal } = spawnSync('strace', [...args, 'echo', 'written'], { timeout: WAIT_MS });
  return signal === 'SIGKILL';
}
