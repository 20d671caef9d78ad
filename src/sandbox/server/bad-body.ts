import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import type { Conclusion } from './processor.ts';
import type { StyledAnswer } from './style.ts';

/** A slow body is sent in this many pieces. */
const PIECES = 10;

/**
 * Sends an answer whose body stops half-way or comes slowly. In both cases the headers state the length of the whole body. The
 * reply must be hijacked.
 */
export async function sendBadly(
  reply: FastifyReply,
  { status, headers, document, body, contentType }: StyledAnswer,
  how: NonNullable<Conclusion['body']>,
  { clock, closing, callerHeaders }: { clock: Clock; closing: AbortSignal; callerHeaders: OutgoingHttpHeaders },
): Promise<void> {
  const { raw } = reply;
  const bytes = document?.bytes ?? Buffer.from(JSON.stringify(body));
  raw.writeHead(status, {
    ...callerHeaders,
    ...headers,
    'content-type': document?.type ?? contentType,
    'content-length': bytes.length,
  });
  if (how.kind === 'truncate') {
    // The reset comes after the first half was sent, so that the client gets this half before the reset.
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    await new Promise<void>((resolve) => raw.write(half, () => resolve()));
    raw.socket?.resetAndDestroy();
    return;
  }
  const start = (piece: number): number => Math.floor((bytes.length * piece) / PIECES);
  for (let piece = 0; piece < PIECES && !raw.destroyed; piece += 1) {
    await clock.sleep(how.ms / PIECES, closing);
    raw.write(bytes.subarray(start(piece), start(piece + 1)));
  }
  raw.end();
}
