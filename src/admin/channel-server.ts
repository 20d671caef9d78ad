import { once } from 'node:events';
import { lstatSync, unlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AdminContext, AdminServer } from '../daemon/daemon-servers.ts';
import { fault } from '../domain/faults.ts';
import { ledgerFaultOf } from '../ledger/store/ledger-fault.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { withAnySignal } from '../lib/with-any-signal.ts';
import { OPERATIONS } from '../operations/list.ts';
import type { AnyOperation } from '../operations/operation.ts';
import { type Failure, failureOf } from '../operations/outcome-fault.ts';
import { auditCommand } from './audit.ts';
import { operationContext } from './local-admin.ts';
import { ALIVE_MS, Envelope, FRAME_CHARS_MAX, type Frame, PATH, REQUEST_BYTES_MAX, socketPlace } from './wire.ts';
import { watchWork } from './work-progress.ts';

/** How many operations run at once, and how many connections are open. */
const OPERATIONS_MAX = 16;
const CONNECTIONS_MAX = 64;
/** How long a request may take to arrive. */
const REQUEST_MS = 10_000;
/** How long a stopping daemon waits for its clients to receive the last frame. */
const FLUSH_MS = 1000;

/**
 * Opens the server through which commands beside a daemon run operations in it. If the server cannot listen, the daemon
 * works without it, and the log says why and what to do.
 */
export async function openAdminChannel(
  context: AdminContext,
  served: readonly AnyOperation[] = OPERATIONS,
): Promise<AdminServer> {
  const { runtime, log } = context;
  const { path, problem } = socketPlace(runtime.config);
  const abort = new AbortController();
  const running = new Set<Promise<void>>();
  const serve = createAnswer(context, served, abort.signal);
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    const answered = running.size < OPERATIONS_MAX ? serve(request, response) : refuse(response);
    running.add(answered);
    void answered.finally(() => running.delete(answered));
  });
  server.maxConnections = CONNECTIONS_MAX;

  const reason = problem ?? (await listen(server, path));
  if (reason !== null) {
    log.warn(
      { path },
      `This daemon cannot run commands that write to the ledger. ${reason} Until then, stop the daemon before you run such a command.`,
    );
    return { close: async () => undefined };
  }
  return {
    async close() {
      abort.abort(STOPPED);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.allSettled(running);
      const timer = setTimeout(() => server.closeAllConnections(), FLUSH_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}

const STOPPED = fault('daemon.stopped', 'The daemon was stopped before the work was done.', {
  suggestion:
    'Nothing is lost: the ledger has the finished work. Run the command again: it continues where the work stopped.',
});
const GONE = fault('interrupted', 'The command that waited for this answer has ended.');
const BUSY = fault('daemon.busy', `The daemon runs ${OPERATIONS_MAX} commands already.`, {
  suggestion: 'Run the command again when one of them is done.',
});

async function refuse(response: ServerResponse): Promise<void> {
  response.end(line({ type: 'error', isOtherConfig: false, failure: failureOf(BUSY) }));
}

/**
 * Listens at the socket, to which only the user of this process can connect. Returns why it cannot listen, in sentences; null
 * where it can.
 */
async function listen(server: Server, path: string): Promise<string | null> {
  try {
    removeLeftover(path);
    // `listen` makes the socket within this call, so the socket never has a mode that allows other users to connect.
    const before = process.umask(0o177);
    try {
      server.listen(path);
    } finally {
      process.umask(before);
    }
    await once(server, 'listening');
    return null;
  } catch (error) {
    server.close();
    return `The admin socket ${path} of the daemon cannot be opened: ${messageOf(error)}. Put the ledger on a file system that has sockets. If another file is at this path, remove that file.`;
  }
}

/**
 * Removes an existing socket. It belongs to a process that was killed, because this process holds the ledger's lock.
 */
function removeLeftover(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true) unlinkSync(path);
}

/** Makes the function that answers one request, from its first byte to the last frame. It never rejects. */
function createAnswer(
  { runtime, clock, log, version, askRefused, daemon }: AdminContext,
  served: readonly AnyOperation[],
  abort: AbortSignal,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { config } = runtime;

  async function read(request: IncomingMessage): Promise<{ operation: AnyOperation; envelope: Envelope }> {
    const name = request.url?.startsWith(PATH) === true ? request.url.slice(PATH.length) : null;
    const chunks: Buffer[] = [];
    let bytes = 0;
    // A request that never ends must not prevent the daemon from stopping.
    const stop = () => request.destroy(STOPPED);
    abort.addEventListener('abort', stop);
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes <= REQUEST_BYTES_MAX) chunks.push(chunk);
      }
    } finally {
      abort.removeEventListener('abort', stop);
    }
    if (bytes > REQUEST_BYTES_MAX) {
      throw fault('usage', `The request has ${bytes} bytes, and the daemon accepts at most ${REQUEST_BYTES_MAX}.`, {
        suggestion: 'Name fewer items in one command.',
      });
    }
    const envelope = Envelope.safeParse(parse(Buffer.concat(chunks).toString('utf8')));
    const operation = served.find((one) => one.name === name);
    const theirs = envelope.success ? `dpp-sync ${envelope.data.version}` : 'a version with other requests';
    if (
      !envelope.success ||
      envelope.data.version !== version ||
      operation === undefined ||
      request.method !== 'POST'
    ) {
      throw fault('daemon.version', `The daemon is dpp-sync ${version}, and this command is ${theirs}.`, {
        suggestion: 'Restart the daemon with the version that is installed, or use the version of the daemon.',
      });
    }
    const { target } = envelope.data;
    if (target !== config.target.baseUrl) {
      throw fault('ledger.target', `The daemon works for ${config.target.baseUrl}, and this config names ${target}.`, {
        path: 'target.baseUrl',
        suggestion: 'Name the config of the daemon with -c FILE. Another platform needs a ledger of its own.',
      });
    }
    return { operation, envelope: envelope.data };
  }

  function failed(error: unknown, { name, gone }: { name: string; gone: AbortSignal }): Failure {
    if (error instanceof Fault) return failureOf(error);
    if (abort.aborted) return failureOf(abort.reason);
    if (gone.aborted) return failureOf(GONE);
    const ledgerFault = ledgerFaultOf(error);
    if (ledgerFault !== null) return failureOf(ledgerFault);
    log.error({ command: name, err: error }, `The command ${name} of a person failed.`);
    const message = `Something happened that dpp-sync is not prepared for: ${messageOf(error)}`;
    return failureOf(fault('internal', message, { suggestion: "The daemon's log shows where it happened." }));
  }

  return async (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    response.on('error', () => gone.abort());
    /** False if the client reads the frames more slowly than they come. */
    const send = (frame: Frame): boolean => gone.signal.aborted || response.write(line(frame, runtime.secrets));
    const bytes = {
      async write(chunk: Uint8Array) {
        await withAnySignal([gone.signal, abort], async (signal) => {
          signal.throwIfAborted();
          const base64 = Buffer.from(chunk).toString('base64');
          if (!response.write(line({ type: 'bytes', base64 }))) await once(response, 'drain', { signal });
        });
      },
    };
    let name = 'unknown';
    let level: 'info' | 'debug' = 'info';
    let watching: { stop(): Promise<void> } | null = null;
    let beat: NodeJS.Timeout | undefined;
    let last: Frame;
    /** Of the client's config. */
    let digest: string | null = null;
    const isOtherConfig = (): boolean => digest !== null && digest !== config.digest;
    try {
      abort.throwIfAborted();
      const { operation, envelope } = await read(request);
      name = operation.name;
      const parsed = operation.request.safeParse(envelope.request);
      if (!parsed.success) throw fault('usage', `The daemon cannot read the request: ${parsed.error.message}`);
      if (operation.kind === 'look') level = 'debug';
      log[level]({ command: name }, `A person has started the command ${name}.`);
      digest = envelope.config;
      send({ type: 'begun' });
      // A slow client misses progress frames, so that they need no memory.
      beat = setInterval(() => {
        if (!response.writableNeedDrain) send({ type: 'alive' });
      }, ALIVE_MS);
      if (envelope.watched) {
        watching = watchWork({ runtime, clock }, (progress) => {
          if (!response.writableNeedDrain) send({ type: 'progress', progress });
        });
      }
      if (operation.kind !== 'look') await askRefused();
      const { who } = envelope;
      const result = await auditCommand({ operation, request: parsed.data, who }, runtime, () =>
        operation.run(parsed.data, operationContext({ runtime, clock, abort, who, bytes, goesOn: true, daemon })),
      );
      last = { type: 'result', isOtherConfig: isOtherConfig(), result };
      log[level]({ command: name }, `The command ${name} is done.`);
    } catch (error) {
      const failure = failed(error, { name, gone: gone.signal });
      last = { type: 'error', isOtherConfig: isOtherConfig(), failure };
      log.info({ command: name, code: failure.code }, `The command ${name} ended with an error: ${failure.message}`);
    }
    clearInterval(beat);
    await watching?.stop();
    send(last);
    response.end();
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A text that is not JSON is refused as a wrong request.
    return undefined;
  }
}

function line(frame: Frame, secrets?: SecretStore): string {
  const text = JSON.stringify(frame, (_, member: unknown) =>
    secrets !== undefined && typeof member === 'string' ? secrets.scrubValue(member) : member,
  );
  if (text.length < FRAME_CHARS_MAX) return `${text}\n`;
  const tooLong = fault('internal', 'The command is done, but its report is too long to be sent.', {
    suggestion: '`dpp-sync status` shows what the command did.',
  });
  return line({ type: 'error', isOtherConfig: false, failure: failureOf(tooLong) });
}
