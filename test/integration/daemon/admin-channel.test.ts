import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createChannelClient, reachDaemon } from '../../../src/admin/channel-client.ts';
import { openAdminChannel } from '../../../src/admin/channel-server.ts';
import { type Admin, operationContext } from '../../../src/admin/local-admin.ts';
import { ALIVE_MS, PATH, REQUEST_BYTES_MAX, socketPlace } from '../../../src/admin/wire.ts';
import type { WorkProgress } from '../../../src/admin/work-progress.ts';
import { untilAborted } from '../../../src/cli/sandbox/sandbox.ts';
import type { AdminServer } from '../../../src/daemon/daemon-servers.ts';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import { fault } from '../../../src/domain/faults.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { AnyOperation, Operation } from '../../../src/operations/operation.ts';
import { publishComplete } from '../../../src/operations/publish.ts';
import type { OperationContext } from '../../../src/operations/runtime.ts';
import { itWithAnotherUser, nodeAsAnotherUser, OTHER_USER } from '../../support/machine/as-another-user.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { quickQueue } from '../../support/servers/quick-queue.ts';
import { PRODUCTS } from '../../support/worlds/daemon-world.ts';
import { createRecordingLog, type RecordingLog } from '../../support/worlds/recording-log.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };
const VERSION = '1.2.3';

const queue = quickQueue();
let world: World;
let runtime: Runtime;
let server: AdminServer | null;
let log: RecordingLog;
let clients: AbortController[];

beforeEach(async () => {
  world = await createWorld({ queue: queue(), config: { sources: [PRODUCTS.source] }, files: PRODUCTS.files });
  runtime = await world.open();
  server = null;
  log = createRecordingLog();
  clients = [];
});
afterEach(async () => {
  for (const client of clients) client.abort();
  await server?.close();
  await runtime.close();
  await world.remove();
});

type Context = OperationContext & { runtime: Runtime };

/** An operation of the test's own. */
function operationOf<Result>(
  run: (context: Context, request: string) => Promise<Result>,
): Operation<string, Result, Context> {
  return {
    name: 'test',
    kind: 'work',
    tag: 'work',
    role: 'operator',
    summary: 'Works.',
    request: z.string(),
    result: z.custom<Result>(),
    run: (request, context) => run(context, request),
  };
}

async function listen(operation: Operation<string, unknown, Context>, over: Runtime = runtime): Promise<void> {
  const context = {
    runtime: over,
    clock: systemClock,
    log,
    version: VERSION,
    askRefused: async () => {},
    daemon: null,
  };
  server = await openAdminChannel(context, [operation as AnyOperation]);
}

interface Means {
  version?: string;
  config?: Partial<Runtime['config']>;
  onOtherConfig?: () => void;
  silentMs?: number;
  beginsWithinMs?: number;
}

function client({ version = VERSION, config = {}, onOtherConfig = () => {}, ...means }: Means = {}): Admin {
  const abort = new AbortController();
  clients.push(abort);
  const { signal } = abort;
  const asked = { config: { ...runtime.config, ...config }, version, command: 'test' };
  return createChannelClient({ ...asked, signal, onOtherConfig, ...means });
}

const place = () => socketPlace(runtime.config).path;

/** A watcher that sends its request and reads nothing until it is resumed. */
function stoppedWatcher(): Socket {
  const envelope = { version: VERSION, target: world.baseUrl, config: '', who: 'kim', watched: true, request: 'x' };
  const body = JSON.stringify(envelope);
  const socket = connect(place()).pause();
  socket.write(
    `POST ${PATH}test HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
}

describe('the admin channel', () => {
  it('the admin channel runs an operation in the process that listens, and gives its result', async () => {
    const echo = operationOf(async ({ goesOn, runtime: at }, text) => ({ text, goesOn, ledger: at.config.ledger }));
    await listen(echo);
    expect(await reachDaemon(runtime.config)).toEqual({ reachable: true });
    expect(await client().run(echo, 'Grüße')).toEqual({ text: 'Grüße', goesOn: true, ledger: runtime.config.ledger });
    expect(statSync(place()).mode & 0o777).toBe(0o600);
  });

  it('the admin channel gives the fault of an operation as it was thrown, without secrets', async () => {
    const failing = operationOf(async () => {
      runtime.secrets.add('the-password');
      throw fault('api.key', 'No to the-password.', { path: 'target.apiKey', suggestion: 'Ask.' });
    });
    await listen(failing);
    await expect(client().run(failing, 'x')).rejects.toMatchObject({
      code: 'api.key',
      exitCode: 3,
      message: 'No to ….',
      path: 'target.apiKey',
      suggestion: 'Ask.',
    });
  });

  it('the admin channel logs an unexpected error of an operation, and reports where it is logged', async () => {
    const broken = operationOf(async () => {
      throw new TypeError('x is undefined');
    });
    await listen(broken);
    await expect(client().run(broken, 'x')).rejects.toMatchObject({
      code: 'internal',
      suggestion: "The daemon's log shows where it happened.",
    });
    expect(log.lines.some(({ level, message }) => level === 'error' && message.includes('test'))).toBe(true);
  });

  it('the admin channel refuses a command of another version, naming both versions', async () => {
    const echo = operationOf(async () => 'done');
    await listen(echo);
    await expect(client({ version: '1.3.0' }).run(echo, 'x')).rejects.toMatchObject({
      code: 'daemon.version',
      message: 'The daemon is dpp-sync 1.2.3, and this command is dpp-sync 1.3.0.',
    });
  });

  it('the admin channel refuses a command that means another platform', async () => {
    const echo = operationOf(async () => 'done');
    await listen(echo);
    const target = { ...runtime.config.target, baseUrl: 'https://other.example' };
    await expect(client({ config: { target } }).run(echo, 'x')).rejects.toMatchObject({
      code: 'ledger.target',
      message: expect.stringContaining('https://other.example'),
    });
  });

  it('the admin channel reports once that the config has changed since the daemon was started', async () => {
    const echo = operationOf(async () => 'done');
    await listen(echo);
    let notes = 0;
    const count = () => {
      notes += 1;
    };
    await client({ onOtherConfig: count }).run(echo, 'x');
    expect(notes).toBe(0);
    const other = client({ config: { digest: 'other' }, onOtherConfig: count });
    await other.run(echo, 'x');
    await other.run(echo, 'x');
    expect(notes).toBe(1);
  });

  it('the admin channel refuses a request that is too large, and one that the operation cannot read', async () => {
    const echo = operationOf(async () => 'done');
    await listen(echo);
    await expect(client().run(echo, 'x'.repeat(REQUEST_BYTES_MAX))).rejects.toMatchObject({ code: 'usage' });
    await expect(client().run(echo as never, 7)).rejects.toMatchObject({ code: 'usage' });
    expect(await client().run(echo, 'x')).toBe('done');
  });

  it('the admin channel runs several operations at once, up to a limit that it names', async () => {
    const ends: (() => void)[] = [];
    const waiting = operationOf(() => new Promise<string>((resolve) => ends.push(() => resolve('done'))));
    await listen(waiting);
    const all = Array.from({ length: 16 }, () => client().run(waiting, 'x'));
    await expect.poll(() => ends.length, SOON).toBe(16);
    await expect(client().run(waiting, 'x')).rejects.toMatchObject({ code: 'daemon.busy', exitCode: 3 });
    for (const end of ends) end();
    expect(new Set(await Promise.all(all))).toEqual(new Set(['done']));
  });

  it('the admin channel shows a watcher the progress of the work, and once more at its end', async () => {
    const { promise: shown, resolve: isShown } = Promise.withResolvers<void>();
    const page = { type: 'page', source: 'erp', stream: 's', changed: 0, done: null, total: null } as const;
    const reason: Reason = { code: 'denied_scope', message: 'No.' };
    const busy = operationOf(async ({ runtime: { bus } }) => {
      bus.emit({ ...page, read: 7 });
      bus.emit({ type: 'paused', scope: 'write', reason });
      await shown;
      bus.emit({ ...page, read: 9 });
      bus.emit({ type: 'resumed', scope: 'write' });
      return 'done';
    });
    await listen(busy);
    const seen: WorkProgress[] = [];
    const onProgress = (progress: WorkProgress) => {
      // On a busy machine one comes before the work has begun.
      if (progress.streams.length === 0) return;
      seen.push(progress);
      isShown();
    };
    expect(await client().run(busy, 'x', { onProgress })).toBe('done');
    const stream = { source: 'erp', stream: 's', done: null, total: null };
    expect(seen[0]).toMatchObject({ streams: [{ ...stream, read: 7 }], settled: 0, left: 0, paused: reason });
    expect(seen.at(-1)).toMatchObject({ streams: [{ ...stream, read: 9 }], paused: null });
  });

  it('the admin channel keeps one progress for a watcher that takes nothing, however long the work is', async () => {
    let looks = 0;
    const reads = {
      ...runtime.reads,
      openDeliveries: () => {
        looks += 1;
        return runtime.reads.openDeliveries();
      },
    };
    const busy = operationOf(async ({ runtime: at }) => {
      // Each progress is larger than the buffer of the socket.
      for (let stream = 0; stream < 5000; stream += 1) {
        at.bus.emit({
          type: 'page',
          source: 'erp',
          stream: `s${stream}`,
          read: 1,
          changed: 0,
          done: null,
          total: null,
        });
      }
      await expect.poll(() => looks, SOON).toBeGreaterThan(8);
      return 'done';
    });
    await listen(busy, { ...runtime, reads });
    const watcher = stoppedWatcher();
    await expect.poll(() => log.lines.some(({ message }) => message === 'The command test is done.'), SOON).toBe(true);
    let text = '';
    watcher.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    watcher.resume();
    await once(watcher, 'close');
    expect(text).toContain('{"type":"result","isOtherConfig":true,"result":"done"}');
    expect(text.split('"type":"progress"').length - 1).toBeLessThanOrEqual(2);
  });

  it('the admin channel hands bytes over as fast as the client takes them, and no faster', async () => {
    const chunk = Buffer.alloc(65_536, 7);
    let written = 0;
    const streaming = operationOf(async ({ bytes }) => {
      for (; written < 400; written += 1) await bytes.write(chunk);
      return written;
    });
    await listen(streaming);
    const { promise: resumed, resolve: resume } = Promise.withResolvers<void>();
    let taken = 0;
    const run = client().run(streaming, 'x', {
      onBytes: async (piece) => {
        await resumed;
        expect(Buffer.compare(piece, chunk)).toBe(0);
        taken += 1;
      },
    });
    await expect.poll(() => written, SOON).toBeGreaterThan(0);
    // Until the reader continues, no more is written than the buffers of the socket can have.
    let before = -1;
    await expect
      .poll(
        () => {
          const isStill = before === written;
          before = written;
          return isStill;
        },
        { ...SOON, interval: 200 },
      )
      .toBe(true);
    expect(written).toBeLessThan(100);
    resume();
    expect(await run).toBe(400);
    expect(taken).toBe(400);
  });

  it('an operation of the admin channel continues its work when its watcher goes away', async () => {
    let ended = false;
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: gone, resolve: go } = Promise.withResolvers<void>();
    const working = operationOf(async () => {
      await gone;
      ended = true;
      return 'done';
    });
    await listen(working);
    const run = client().run(working, 'x', { onProgress: () => begin() });
    await begun;
    clients[0]?.abort();
    await expect(run).rejects.toMatchObject({
      code: 'interrupted',
      exitCode: 1,
      message: 'Stopped watching. The daemon finishes the command.',
    });
    go();
    await expect.poll(() => ended, SOON).toBe(true);
    await expect.poll(() => log.lines.some(({ message }) => message === 'The command test is done.'), SOON).toBe(true);
  });

  it('the admin channel stops writing a document for a watcher that went away', async () => {
    const endless = operationOf(async ({ bytes }) => {
      for (;;) await bytes.write(Buffer.alloc(65_536));
    });
    await listen(endless);
    const run = client().run(endless, 'x', { onBytes: async () => clients[0]?.abort() });
    await expect(run).rejects.toMatchObject({ code: 'interrupted' });
    const ended = 'The command test ended with an error: The command that waited for this answer has ended.';
    await expect.poll(() => log.lines.map(({ message }) => message), SOON).toContain(ended);
    expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('the admin channel that is closed interrupts its operations, sends its watchers the last message, and removes its socket', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const working = operationOf(async ({ abort }) => {
      begin();
      await untilAborted(abort);
      abort.throwIfAborted();
    });
    await listen(working);
    const refused = expect(client().run(working, 'x')).rejects.toMatchObject({ code: 'daemon.stopped', exitCode: 3 });
    await begun;
    await server?.close();
    await refused;
    expect(existsSync(place())).toBe(false);
  });

  it('the admin channel that is closed ends without a watcher that takes nothing', async () => {
    const working = operationOf(async ({ abort }) => {
      await untilAborted(abort);
      return 'x'.repeat(4_000_000);
    });
    await listen(working);
    const watcher = stoppedWatcher();
    await expect
      .poll(() => log.lines.some(({ message }) => message.includes('has started the command')), SOON)
      .toBe(true);
    await server?.close();
    watcher.destroy();
  });

  it('the admin channel recognises a socket that a killed process has left behind', async () => {
    const code = `require('net').createServer().listen(${JSON.stringify(place())}, () => console.log('listening'))`;
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(existsSync(place())).toBe(true);
    expect(await reachDaemon(runtime.config)).toEqual({
      reachable: false,
      why: expect.stringContaining('ECONNREFUSED'),
    });
    const echo = operationOf(async () => 'done');
    await listen(echo);
    expect(await client().run(echo, 'x')).toBe('done');
  });

  it('the admin channel makes no statement about a command that is stopped before the daemon answers', async () => {
    const echo = operationOf(async () => 'done');
    await listen(echo);
    const run = client().run(echo, 'x');
    clients[0]?.abort();
    await expect(run).rejects.toMatchObject({
      code: 'interrupted',
      message: 'Stopped before the daemon answered. The daemon may still run the command.',
    });
  });

  it('the admin channel sends a frame every few seconds, so that a long operation does not count as stopped', async () => {
    const long = operationOf(async () => {
      await systemClock.sleep(2 * ALIVE_MS);
      return 'done';
    });
    await listen(long);
    expect(await client({ silentMs: 1.5 * ALIVE_MS }).run(long, 'x')).toBe('done');
  });

  it('a command does not report the daemon as ended where the daemon takes no more connections', async () => {
    const echo = operationOf(async () => 'done');
    await listen(echo);
    const others = Array.from({ length: 64 }, () => connect(place()));
    await Promise.all(others.map((other) => once(other, 'connect')));
    await expect(client().run(echo, 'x')).rejects.toMatchObject({
      code: 'daemon.lost',
      message: 'The daemon closed the connection before it began this command.',
      suggestion: expect.stringContaining('too many commands are connected'),
    });
    for (const other of others) other.destroy();
    await expect
      .poll(
        () =>
          client()
            .run(echo, 'x')
            .catch(() => null),
        SOON,
      )
      .toBe('done');
  });

  it('the admin channel that is closed ends beside a request that has not arrived', async () => {
    await listen(operationOf(async () => 'done'));
    const half = connect(place()).on('error', () => {});
    half.write(`POST ${PATH}test HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{`);
    // The server answers this request, although it has begun to read the first one.
    await expect(
      client().run(
        operationOf(async () => 'done'),
        'x',
      ),
    ).resolves.toBe('done');
    const ended = once(half, 'close');
    await server?.close();
    await ended;
  });

  it('the admin channel keeps its watchers where the ledger cannot be read', async () => {
    let looks = 0;
    const reads = {
      ...runtime.reads,
      openDeliveries: () => {
        looks += 1;
        throw new Error('disk I/O error');
      },
    };
    const working = operationOf(async () => {
      await expect.poll(() => looks, SOON).toBeGreaterThan(0);
      return 'done';
    });
    await listen(working, { ...runtime, reads });
    expect(await client().run(working, 'x', { onProgress: () => {} })).toBe('done');
  });

  it('a command that is stopped amid the products does not count a part of them as all', async () => {
    const stopped = fault('daemon.stopped', 'Stopped.');
    const given = { runtime, clock: systemClock, abort: AbortSignal.abort(stopped), who: 'kim', goesOn: true };
    const context = operationContext(given);
    await expect(publishComplete.run({ dryRun: true, waitMs: 0 }, context)).rejects.toBe(stopped);
  });

  describe('in whose place something else listens', () => {
    let other: Server | null = null;
    afterEach(() => {
      other?.closeAllConnections();
      other?.close();
    });
    async function listenAs(path: string, answer: RequestListener): Promise<void> {
      other = createServer(answer).listen(path);
      await once(other, 'listening');
    }
    const run = (means: Means = {}) =>
      client(means).run(
        operationOf(async () => 'done'),
        'x',
      );

    it.each<[string, RequestListener]>([
      ['no JSON', (_, response) => void response.end('nonsense\n')],
      ['other JSON', (_, response) => void response.end('{"type":"other"}\n')],
      ['an error', (_, response) => void response.writeHead(500).end()],
    ])('a program in place of the admin channel is no daemon where it answers with %s', async (_, answer) => {
      await listenAs(place(), answer);
      await expect(run()).rejects.toMatchObject({
        code: 'daemon.version',
        message: `The program that answers at ${place()} is not a daemon of dpp-sync ${VERSION}.`,
      });
    });

    it.each<Means>([{ silentMs: 100 }, { silentMs: 600_000, beginsWithinMs: 100 }])(
      'a command does not wait without an end for a program in place of the admin channel that sends nothing: %o',
      async (means) => {
        await listenAs(place(), () => {});
        await expect(run(means)).rejects.toMatchObject({
          code: 'daemon.lost',
          exitCode: 3,
          message: `The daemon at ${place()} accepts the connection, but sends nothing.`,
        });
      },
    );

    it('a command does not ask another program where a link leads from the admin channel to it', async () => {
      await listenAs(`${place()}.other`, () => {});
      symlinkSync(`${place()}.other`, place());
      expect(await reachDaemon(runtime.config)).toEqual({
        reachable: false,
        why: expect.stringContaining('is not a socket that the owner of the ledger has made'),
      });
    });

    itWithAnotherUser('is not asked where it belongs to another user', async () => {
      await listenAs(place(), () => {});
      expect(await reachDaemon(runtime.config)).toEqual({ reachable: true });
      chownSync(place(), OTHER_USER, OTHER_USER);
      expect(await reachDaemon(runtime.config)).toMatchObject({ reachable: false });
    });
  });

  it('the admin channel does not remove a file of somebody else in place of its socket, and says what to do', async () => {
    writeFileSync(place(), 'precious');
    await listen(operationOf(async () => 'done'));
    expect(statSync(place()).size).toBe(8);
    const [warning] = log.lines.filter(({ level }) => level === 'warn');
    expect(warning?.message).toMatch(
      /cannot be opened: .*EADDRINUSE.*If another file is at this path, remove that file/,
    );
  });

  itWithAnotherUser('lets no other user connect', async () => {
    chmodSync(world.folder, 0o755);
    chmodSync(join(world.folder, 'data'), 0o755);
    await listen(operationOf(async () => 'done'));
    const code = `require('net').connect(${JSON.stringify(place())}).on('error', (e) => { console.log(e.code); }).on('connect', () => { console.log('connected'); process.exit(); })`;
    expect(nodeAsAnotherUser(['-e', code]).stdout.trim()).toBe('EACCES');
    chmodSync(place(), 0o777);
    expect(nodeAsAnotherUser(['-e', code]).stdout.trim()).toBe('connected');
  });
});
