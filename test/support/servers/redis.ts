import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';
import { removeFolder } from '../machine/remove-folder.ts';
import { describeWhere } from '../runner/describe-where.ts';
import { WAIT_MS } from '../runner/limits.ts';
import { freePort } from './free-port.ts';

const READY_WITHIN_MS = WAIT_MS;
/** The end of the server's own words, which a failure shows, in characters. */
const SHOWN_OUTPUT = 2_000;
const CONTAINER_IMAGE = 'redis:7-alpine';

/** The way to start a Redis on this machine. It is determined once for each test file. */
const redisSource: 'binary' | 'container' | undefined = await findRedis();
export const redisAvailable = redisSource !== undefined;
/** True if Redis is a program of this machine. Other programs can then run and trace it. */
export const redisTraceable = redisSource === 'binary';

/** A `describe` that is skipped if there is no Redis. */
export const describeRedis = describeWhere({
  isThere: redisAvailable,
  what: 'Redis: install it with `apt-get install redis-server`, or let Docker run',
  requiredBy: 'DPP_SYNC_TEST_REQUIRE_REDIS',
});

export interface RedisOptions {
  appendonly?: boolean;
  password?: string;
  /** Further settings, such as `{ maxmemory: '10mb', 'maxmemory-policy': 'allkeys-lru' }`. */
  settings?: Record<string, string>;
  /**
   * The beginning of a command line that runs the server, made from the folder of its data. Its program may end the
   * server before the server is ready. `restart` does not use it. Only allowed if `redisTraceable` is true.
   */
  under?: (folder: string) => string[];
}

export interface RedisServer {
  /** The URL of the server, with the password if there is one. */
  url: string;
  port: number;
  /** The process id of the server; undefined if it runs in a container. */
  pid(): number | undefined;
  /**
   * Waits until the last started server has ended, and returns the signal that ended it. Not for a server in a
   * container.
   */
  ended(): Promise<NodeJS.Signals | null>;
  /** Kills the server, like a crash. Its data stay for `restart`. */
  kill(): Promise<void>;
  /** Starts the server again on the same port with its stored data. */
  restart(): Promise<void>;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts a new Redis on a free port, with a new directory. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const port = await freePort();
  const { appendonly = false, password, settings = {}, under } = options;
  const all: Record<string, string> = {
    save: '',
    appendonly: appendonly ? 'yes' : 'no',
    ...(password === undefined ? {} : { requirepass: password }),
    // The second port of a node is 10,000 above the first if nothing is said, and a client may have that one.
    ...(settings['cluster-enabled'] === 'yes' ? { 'cluster-port': `${await freePort()}` } : {}),
    ...settings,
  };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  if (under && !redisTraceable) throw new Error('A Redis in a container cannot be run under a command.');
  const server = redisSource === 'container' ? await startContainer(port, args) : await startBinary(port, args, under);
  const credentials = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
  return { ...server, port, url: `redis://${credentials}127.0.0.1:${port}` };
}

type Control = Pick<RedisServer, 'pid' | 'ended' | 'kill' | 'restart' | 'stop'>;

async function startBinary(port: number, args: string[], under?: RedisOptions['under']): Promise<Control> {
  const directory = await mkdtemp(join(tmpdir(), 'dpp-sync-redis-'));
  const own = ['redis-server', '--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory, ...args];
  const start = async (before: string[]): Promise<Started> => {
    const [command = '', ...rest] = [...before, ...own];
    const isWrapped = before.length > 0;
    // A program that runs the server does not pass SIGKILL to it. So both are in one process group, and the group is
    // killed.
    const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'ignore'], detached: isWrapped });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-SHOWN_OUTPUT)));
    const kill = () => {
      if (child.pid !== undefined && !hasEnded(child)) process.kill(isWrapped ? -child.pid : child.pid, 'SIGKILL');
    };
    process.once('exit', kill);
    const ended = once(child, 'exit').then(([, signal]) => {
      process.off('exit', kill);
      return signal as NodeJS.Signals | null;
    });
    await untilReady(port, () => {
      if (!hasEnded(child)) return false;
      if (isWrapped) return true;
      throw new Error(`redis-server ended before it was ready. ${output}`);
    });
    return { pid: child.pid, kill, ended };
  };
  let server = await start(under?.(directory) ?? []);
  const kill = async () => {
    server.kill();
    await server.ended;
  };
  return {
    pid: () => server.pid,
    ended: () => server.ended,
    kill,
    async restart() {
      await kill();
      server = await start([]);
    },
    async stop() {
      await kill();
      // If another program runs Redis, Redis may end a moment after that program, and may write a file until then.
      await removeFolder(directory);
    },
  };
}

interface Started {
  pid: number | undefined;
  kill: () => void;
  ended: Promise<NodeJS.Signals | null>;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function startContainer(port: number, args: string[]): Promise<Control> {
  const container = await new GenericContainer(CONTAINER_IMAGE)
    .withCommand(['redis-server', ...args])
    .withExposedPorts({ container: 6379, host: port })
    .start();
  await untilReady(port);
  return {
    pid: () => undefined,
    ended: () => new Promise(() => undefined),
    kill: async () => void (await container.stop({ remove: false, timeout: 0 })),
    async restart() {
      await container.restart();
      await untilReady(port);
    },
    stop: async () => void (await container.stop()),
  };
}

async function findRedis(): Promise<typeof redisSource> {
  if (spawnSync('redis-server', ['--version']).status === 0) return 'binary';
  try {
    await getContainerRuntimeClient();
    return 'container';
  } catch {
    // There is no container runtime, so the caller skips its suite.
    return undefined;
  }
}

/** Waits until Redis answers a PING, which it does after it has read its data. There is no other sign of that. */
async function untilReady(port: number, mayHaveEnded: () => boolean = () => false): Promise<void> {
  const giveUpAt = Date.now() + READY_WITHIN_MS;
  while (!(mayHaveEnded() || (await answersPing(port)))) {
    if (Date.now() > giveUpAt) throw new Error(`redis-server did not answer on port ${port}.`);
    await delay(20);
  }
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (ready: boolean) => {
      socket.destroy();
      resolve(ready);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    // If there is a password, Redis refuses the PING. That also shows that the server works.
    socket.once('data', (data) => answer(/^(?:\+PONG|-NOAUTH)/.test(data.toString())));
    socket.once('error', () => answer(false));
    socket.setTimeout(10_000, () => answer(false));
  });
}
