import { lstatSync, statSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { LedgerConfig } from '../config/loaded-config.ts';
import { fault } from '../domain/faults.ts';
import { type Fault, messageOf, systemCodeOf } from '../lib/errors.ts';
import { faultOf } from '../operations/outcome-fault.ts';
import { systemUser } from './audit.ts';
import type { Admin, Watch } from './local-admin.ts';
import { type Envelope, FRAME_CHARS_MAX, Frame, PATH, socketPlace } from './wire.ts';

export interface ChannelOptions {
  config: LedgerConfig;
  version: string;
  /** The command, for a message that asks the person to run it again. */
  command: string;
  /** Ends the display of the progress; the daemon continues. */
  signal: AbortSignal;
  /** Called if the daemon still runs with another config than the one that was loaded here when an operation has ended. */
  onOtherConfig: () => void;
  /** How long the daemon may send no frame before it counts as stopped. */
  silentMs?: number;
  /** How long the daemon may take until its first frame. By default as long as `silentMs`. */
  beginsWithinMs?: number;
}

/** Twelve times the interval at which a daemon sends frames, because a daemon may be busy with a long transaction. */
const SILENT_MS = 60_000;

/**
 * Whether a daemon listens beside a ledger. `why` says why a daemon that may be there cannot be reached; null if no
 * daemon listens.
 */
export type Reach = { reachable: true } | { reachable: false; why: string | null };

/** Tries to connect to the daemon beside the ledger of a config. */
export async function reachDaemon(config: LedgerConfig): Promise<Reach> {
  let path: string;
  try {
    const place = socketPlace(config);
    const why = place.problem ?? distrust(place.path, config.ledger);
    if (why !== null) return { reachable: false, why };
    path = place.path;
  } catch (error) {
    return { reachable: false, why: whyNot(error) };
  }
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve({ reachable: true });
    });
    // A socket that a killed daemon has left behind refuses the connection.
    socket.once('error', (error) => resolve({ reachable: false, why: whyNot(error) }));
  });
}

/**
 * The reason in a sentence; null if the ledger or the socket is missing, because then no daemon runs. If the ledger is
 * missing, the command reports that when it opens the ledger.
 */
function whyNot(error: unknown): string | null {
  return systemCodeOf(error) === 'ENOENT' ? null : `No daemon answers: ${messageOf(error)}.`;
}

/**
 * Why the file with the socket's name cannot be trusted; null for a socket of the ledger's owner or of root. A link may lead
 * anywhere.
 */
function distrust(path: string, ledger: string): string | null {
  const socket = lstatSync(path);
  if (socket.isSocket() && [ROOT, statSync(ledger).uid].includes(socket.uid)) return null;
  return `${path} is not a socket that the owner of the ledger has made. Find out who has made this file, remove it, and restart the daemon.`;
}

const ROOT = 0;

/** Asks the daemon that holds the ledger to run operations. */
export function createChannelClient(options: ChannelOptions): Admin {
  const { config, version, signal, onOtherConfig, silentMs = SILENT_MS, beginsWithinMs = silentMs } = options;
  const { path: socketPath } = socketPlace(config);
  let hasNoted = false;

  async function post(
    { name, ...asked }: Pick<Envelope, 'request' | 'watched'> & { name: string },
    ended: AbortSignal,
  ): Promise<IncomingMessage> {
    const { baseUrl: target } = config.target;
    const envelope: Envelope = { version, target, config: config.digest, who: systemUser(), ...asked };
    return new Promise((resolve, reject) => {
      httpRequest({ socketPath, path: `${PATH}${name}`, method: 'POST', agent: false, signal: ended }, resolve)
        .once('error', reject)
        .end(JSON.stringify(envelope));
    });
  }

  function noteConfig({ isOtherConfig }: { isOtherConfig: boolean }): void {
    if (isOtherConfig && !hasNoted) onOtherConfig();
    hasNoted ||= isOtherConfig;
  }

  async function watched(frames: AsyncIterable<Frame>, { onProgress, onBytes }: Watch): Promise<{ result: unknown }> {
    for await (const frame of frames) {
      switch (frame.type) {
        case 'begun':
        case 'alive':
          break;
        case 'progress':
          onProgress?.(frame.progress);
          break;
        case 'bytes':
          await onBytes?.(Buffer.from(frame.base64, 'base64'));
          break;
        case 'result':
          noteConfig(frame);
          return { result: frame.result };
        case 'error':
          noteConfig(frame);
          throw faultOf(frame.failure);
      }
    }
    throw new Error('Frames end with a result, with an error or by a fault.');
  }

  async function* framesOf(
    asked: Pick<Envelope, 'request' | 'watched'> & { name: string },
    stopped: Fault,
  ): AsyncGenerator<Frame> {
    const silence = new AbortController();
    const ended = AbortSignal.any([signal, silence.signal]);
    let late: NodeJS.Immediate | undefined;
    // If this process was stopped for a while, its timer is over before it has read what the daemon sent meanwhile.
    const isOver = () => {
      late = setImmediate(() => silence.abort());
    };
    let hasBegun = false;
    const listen = () => setTimeout(isOver, hasBegun ? silentMs : beginsWithinMs);
    // The timer runs only while this client waits for a frame. Otherwise a slow reader could make the daemon look
    // silent.
    let timer = listen();
    try {
      for await (const line of linesOf(await post(asked, ended))) {
        clearTimeout(timer);
        clearImmediate(late);
        const frame = Frame.parse(JSON.parse(line));
        hasBegun ||= frame.type === 'begun';
        yield frame;
        timer = listen();
      }
    } catch (error) {
      if (signal.aborted) throw hasBegun ? stopped : STOPPED_EARLY;
      if (silence.signal.aborted) throw silentFault(options, socketPath);
      if (isEnd(error)) throw lostFault(options, { hasBegun, cause: error });
      throw strangeFault(options, socketPath, error);
    } finally {
      clearTimeout(timer);
      clearImmediate(late);
    }
    throw lostFault(options, { hasBegun });
  }

  return {
    daemon: true,
    async run<Request, Result>({ name }: { name: string }, request: Request, watch: Watch = {}): Promise<Result> {
      const asked = { name, request, watched: watch.onProgress !== undefined };
      // If the client stops receiving a document, the daemon stops reading it.
      const stopped = watch.onBytes === undefined ? STOPPED_WATCHING : STOPPED;
      const { result } = await watched(framesOf(asked, stopped), watch);
      // Both sides have the same version, so the value has the type that the operation has returned.
      return result as Result;
    },
  };
}

const STOPPED = fault('interrupted', 'The command was stopped before its work was done.');
const STOPPED_WATCHING = fault('interrupted', 'Stopped watching. The daemon finishes the command.', {
  suggestion: 'See `dpp-sync status` for the result.',
});

/** The daemon may already have received the request. */
const STOPPED_EARLY = fault(
  'interrupted',
  'Stopped before the daemon answered. The daemon may still run the command.',
  {
    suggestion: 'See `dpp-sync status` for the result.',
  },
);

function lostFault({ command }: ChannelOptions, { hasBegun, cause }: { hasBegun: boolean; cause?: unknown }): Fault {
  const again = `run \`dpp-sync ${command}\` again.`;
  if (hasBegun) {
    return fault('daemon.lost', 'The daemon ended during this command.', {
      cause,
      suggestion: `Nothing is lost: the ledger has the finished work. Start the daemon again if you need it, and ${again}`,
    });
  }
  return fault('daemon.lost', 'The daemon closed the connection before it began this command.', {
    cause,
    suggestion: `The daemon has ended, or too many commands are connected to it. Start the daemon again if you need it, and ${again}`,
  });
}

function silentFault({ command }: ChannelOptions, socketPath: string): Fault {
  return fault('daemon.lost', `The daemon at ${socketPath} accepts the connection, but sends nothing.`, {
    suggestion: `The process of the daemon may be stopped (SIGSTOP, a debugger, a paused container), or get no CPU time. The daemon may still run the command when its process continues. Let the process continue, or restart the daemon, and run \`dpp-sync ${command}\` again.`,
  });
}

function strangeFault({ version }: ChannelOptions, socketPath: string, cause: unknown): Fault {
  return fault('daemon.version', `The program that answers at ${socketPath} is not a daemon of dpp-sync ${version}.`, {
    cause,
    suggestion: 'Restart the daemon with the version that is installed. If another program has the socket, end it.',
  });
}

/** True for a connection that was refused, or that ended without its last frame. */
function isEnd(error: unknown): boolean {
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ENOENT'].includes(systemCodeOf(error) ?? '');
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let pieces: string[] = [];
  let length = 0;
  if (response.statusCode !== 200) throw new Error(`The daemon answers with HTTP ${response.statusCode}.`);
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    pieces.push(first);
    length += first.length;
    if (length > FRAME_CHARS_MAX) throw new Error('A message of the daemon is too long.');
    for (const other of others) {
      yield pieces.join('');
      pieces = [other];
      length = other.length;
    }
  }
}
