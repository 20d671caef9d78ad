import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const LAUNCHER = join(import.meta.dirname, '../../../src/launcher.mjs');

/** `dpp-sync start` in a separate process. */
export interface DaemonProcess {
  pid: number;
  /** Its whole output on stdout so far. */
  stdout(): string;
  /** Its whole output on stderr so far. */
  stderr(): string;
  signal(name: NodeJS.Signals): void;
  /** The exit code of the process, or the signal that ended it. */
  exited: Promise<number | NodeJS.Signals>;
}

/**
 * Starts the daemon and waits until it is ready. It is killed when the test's process ends.
 *
 * @param launcher the program; by default that of this checkout
 * @param options with `detached` the daemon has its own session, without a terminal
 */
export async function startDaemonProcess(
  configFile: string,
  launcher = LAUNCHER,
  { detached = false } = {},
): Promise<DaemonProcess> {
  const child = spawn(process.execPath, [launcher, 'start', '--json', '-c', configFile], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached,
  });
  const killWithTests = () => child.kill('SIGKILL');
  process.once('exit', killWithTests);
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdout.setEncoding('utf8');
  const exited = once(child, 'exit').then(([code, signal]) => {
    process.off('exit', killWithTests);
    return (code ?? signal) as number | NodeJS.Signals;
  });
  const ready = new Promise<void>((resolve) => {
    child.stdout.on('data', (text: string) => {
      stdout += text;
      // A daemon that cannot start prints its error, and ends.
      if (stdout.includes('\n') && !stdout.startsWith('{"ok":false')) resolve();
    });
  });
  const early = exited.then((code) => {
    throw new Error(`The daemon ended with ${code} before it worked: ${stderr}`);
  });
  await Promise.race([ready, early]);
  early.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    signal: (name) => void child.kill(name),
    exited,
  };
}
