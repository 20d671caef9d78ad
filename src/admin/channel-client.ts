import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { RuntimeConfig } from '../daemon/open-source.ts';
import { fault } from '../domain/faults.ts';
import { type Fault, messageOf, systemCodeOf } from '../lib/errors.ts';
import type { Admin, Watch } from './admin.ts';
import { faultOf } from './failure.ts';
import { type Envelope, FRAME_CHARS_MAX, Frame, PATH, socketPlace } from './wire.ts';

export interface ChannelOptions {
  config: RuntimeConfig;
  version: string;
  /** The command, for a message that says what to run again. */
  command: string;
  /** Ends the watching; the daemon goes on. */
  signal: AbortSignal;
  /** Called when the daemon runs with another config than the one that was loaded here. */
  onOtherConfig: () => void;
}

/** Whether a daemon listens beside a ledger. `why` says what keeps one that may be there from being reached, or is null. */
export type Reach = { reachable: true } | { reachable: false; why: string | null };

/** Tries to connect to the daemon beside the ledger of a config. */
export async function reachDaemon(config: RuntimeConfig): Promise<Reach> {
  let place: ReturnType<typeof socketPlace>;
  try {
    place = socketPlace(config);
  } catch (error) {
    // A folder that is not there yet has no daemon either; what else is wrong with it, opening the ledger reports.
    return { reachable: false, why: systemCodeOf(error) === 'ENOENT' ? null : messageOf(error) };
  }
  const { path, problem } = place;
  if (problem !== null) return { reachable: false, why: problem };
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve({ reachable: true });
    });
    // A socket that a killed daemon has left behind refuses the connection.
    socket.once('error', (error) => {
      const isAbsent = systemCodeOf(error) === 'ENOENT';
      resolve({ reachable: false, why: isAbsent ? null : `No daemon answers at ${path}: ${error.message}.` });
    });
  });
}

/** Has the daemon that holds the ledger run handlers. */
export function createChannelClient(options: ChannelOptions): Admin {
  const { config, version, signal, onOtherConfig } = options;
  const { path: socketPath } = socketPlace(config);
  let hasNoted = false;

  async function post(name: string, asked: Pick<Envelope, 'request' | 'watched'>): Promise<IncomingMessage> {
    const envelope: Envelope = { version, target: config.target.baseUrl, config: config.digest, ...asked };
    return new Promise((resolve, reject) => {
      httpRequest({ socketPath, path: `${PATH}${name}`, method: 'POST', agent: false, signal }, resolve)
        .once('error', reject)
        .end(JSON.stringify(envelope));
    });
  }

  async function watched(frames: AsyncIterable<Frame>, { onProgress, onBytes }: Watch): Promise<{ result: unknown }> {
    for await (const frame of frames) {
      switch (frame.type) {
        case 'begun':
          if (frame.configChanged && !hasNoted) onOtherConfig();
          hasNoted ||= frame.configChanged;
          break;
        case 'progress':
          onProgress?.(frame.progress);
          break;
        case 'bytes':
          await onBytes?.(Buffer.from(frame.base64, 'base64'));
          break;
        case 'result':
          return { result: frame.result };
        case 'error':
          throw faultOf(frame.failure);
      }
    }
    throw lostFault(options);
  }

  async function* framesOf(
    name: string,
    asked: Pick<Envelope, 'request' | 'watched'>,
    stopped: Fault,
  ): AsyncGenerator<Frame> {
    try {
      for await (const line of linesOf(await post(name, asked))) yield Frame.parse(JSON.parse(line));
    } catch (error) {
      throw signal.aborted ? stopped : lostFault(options, error);
    }
  }

  return {
    daemon: true,
    async run<Request, Result>({ name }: { name: string }, request: Request, watch: Watch = {}): Promise<Result> {
      const asked = { request, watched: watch.onProgress !== undefined };
      // A document that nobody takes is read no further.
      const stopped = watch.onBytes === undefined ? STOPPED_WATCHING : STOPPED;
      const { result } = await watched(framesOf(name, asked, stopped), watch);
      // Both sides are the same version, so this is what the handler has returned.
      return result as Result;
    },
  };
}

const STOPPED = fault('interrupted', 'Stopped before it was done.');
const STOPPED_WATCHING = fault('interrupted', 'Stopped watching. The daemon goes on with it.', {
  suggestion: '`dpp-sync status` shows how it stands.',
});

function lostFault({ command }: ChannelOptions, cause?: unknown) {
  return fault('daemon.lost', 'The daemon ended amid this.', {
    cause,
    suggestion: `Nothing is lost: what it did is in the ledger. Start the daemon again where it is to run, and run \`dpp-sync ${command}\` again.`,
  });
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const [first = '', ...others] = chunk.split('\n');
    pieces.push(first);
    length += first.length;
    if (length > FRAME_CHARS_MAX) throw new Error('A frame of the daemon is too long.');
    for (const other of others) {
      yield pieces.join('');
      pieces = [other];
      length = other.length;
    }
  }
}
