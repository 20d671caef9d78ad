// The wire format of the admin channel: HTTP over a Unix domain socket beside the ledger. A request is `POST /v1/NAME`
// with one JSON document; its answer is a stream of frames, one JSON document a line. The last frame is a result or an
// error. If an answer has neither, the daemon has died.

import { z } from 'zod';
import { ledgerPath } from '../ledger/file/file.ts';
import type { WorkProgress } from './work-progress.ts';

/** The beginning of a request's path, before the operation's name. */
export const PATH = '/v1/';
export const REQUEST_BYTES_MAX = 4 * 1024 * 1024;
/** The longest frame. Operations bound their results, which are far shorter. */
export const FRAME_CHARS_MAX = 64 * 1024 * 1024;

/** The request of a client. The daemon refuses it if version or target differ. */
export const Envelope = z.strictObject({
  /** The client's version of this package. Operations change with it, so both have to be the same. */
  version: z.string(),
  /** The base URL of the API in the client's config. It has to be the one that the daemon uses. */
  target: z.string(),
  /** The digest of the client's config. */
  config: z.string(),
  /**
   * The user of the system who runs the command. Only the ledger's owner can open the socket, so the client is trusted.
   */
  who: z.string().max(200),
  /** Whether the client wants to see the progress. */
  watched: z.boolean(),
  request: z.unknown(),
});
export type Envelope = z.infer<typeof Envelope>;

/** A daemon sends a frame at least this often. */
export const ALIVE_MS = 5000;

export const Frame = z.discriminatedUnion('type', [
  /** The first frame: the operation has begun. */
  z.object({ type: z.literal('begun') }),
  /** Sent every few seconds, so that the client notices a daemon whose process is stopped. */
  z.object({ type: z.literal('alive') }),
  z.object({ type: z.literal('progress'), progress: z.custom<WorkProgress>() }),
  z.object({ type: z.literal('bytes'), base64: z.string() }),
  // The operation has ended. `isOtherConfig` is true if the daemon then works with another config than the client has. A command may
  // have made the daemon read a changed config.
  z.object({ type: z.literal('result'), isOtherConfig: z.boolean(), result: z.unknown() }),
  z.object({
    type: z.literal('error'),
    // A daemon of another version may not send this, and its error has to be shown.
    isOtherConfig: z.boolean().default(false),
    failure: z.object({
      exitCode: z.number(),
      code: z.string(),
      path: z.string().nullable(),
      message: z.string(),
      suggestion: z.string().nullable(),
    }),
  }),
]);
export type Frame = z.infer<typeof Frame>;

/** The longest path of a socket that the kernel accepts, in bytes; libuv cuts a longer path without an error. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;

/** The path at which the daemon of a config listens, or why it cannot listen there. */
export function socketPlace({ ledger }: { ledger: string }): { path: string; problem: string | null } {
  const path = `${ledgerPath(ledger)}.sock`;
  const bytes = Buffer.byteLength(path);
  const problem =
    bytes > SOCKET_PATH_BYTES_MAX
      ? `The path ${path} of the daemon's admin socket has ${bytes} bytes, and the system allows at most ${SOCKET_PATH_BYTES_MAX}. Put the ledger into a folder with a shorter path.`
      : null;
  return { path, problem };
}
