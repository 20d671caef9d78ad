import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WAIT_MS } from '../runner/limits.ts';

const READY_WITHIN_MS = WAIT_MS;

/** True if a program is installed. */
export function hasProgram(name: string, ...args: string[]): boolean {
  return spawnSync(name, args).error === undefined;
}

/** A server process of a test. It ends at the end of the tests if it is not killed before. */
export interface ServerProcess {
  /** Its output so far, to show it after a failure. */
  output: () => string;
  /** Kills the process. */
  kill: () => Promise<void>;
  /**
   * Ends the process by a signal, by default SIGTERM, and kills it when it does not end soon.
   *
   * @param cleanly for a server that has children which write to its folder: it gets a long time to end them
   */
  stop: (cleanly?: NodeJS.Signals) => Promise<void>;
}

/** Starts a server and waits until its port answers. */
export async function startServerProcess(
  command: string,
  args: readonly string[],
  port: number,
  as: { uid?: number; gid?: number } = {},
): Promise<ServerProcess> {
  const child: ChildProcess = spawn(command, args, { ...as, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text));
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit').then(() => process.off('exit', kill));
  const giveUpAt = Date.now() + READY_WITHIN_MS;
  while (!(await answers(port))) {
    if (child.exitCode !== null || Date.now() > giveUpAt) throw new Error(`${command} does not answer. ${output}`);
    await delay(20);
  }
  return {
    output: () => output,
    async kill() {
      kill();
      await ended;
    },
    async stop(cleanly) {
      child.kill(cleanly ?? 'SIGTERM');
      const lingers = setTimeout(kill, cleanly === undefined ? 2_000 : 60_000);
      await ended;
      clearTimeout(lingers);
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
