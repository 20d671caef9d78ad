import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';
import { sha256Hex } from '../lib/hash.ts';
import type { Logger } from '../lib/logging/logging.ts';

/** How many wrong guesses an address has free. One guess becomes free again every `REGAIN_MS`. */
const FREE = 10;
const REGAIN_MS = 30_000;
/** How many addresses are remembered (I9). The limits do not stop somebody who has more addresses than this. */
const ADDRESSES_MAX = 10_000;

export type AttemptLimit = ReturnType<typeof createAttemptLimit>;

/** Counts guesses by address or name. Right guesses are given back, so only wrong ones use up attempts. */
export function createAttemptLimit(clock: Clock) {
  /**
   * When all guesses of an address are free again, by the hash of the address. A caller may send a name of many
   * kilobytes in its place.
   */
  const clearAt = new Map<string, number>();

  function state(hash: string): { from: number; waitMs: number } {
    const now = clock.ticks();
    const from = Math.max(now, clearAt.get(hash) ?? 0);
    return { from, waitMs: Math.max(0, from - now - (FREE - 1) * REGAIN_MS) };
  }

  return {
    /** Milliseconds until a guess is free again; 0 if one is free now. Counts nothing. */
    waitMs: (address: string) => state(sha256Hex(address)).waitMs,
    /**
     * Counts a guess. Call it before the guess is compared: guesses that come at the same time are then limited too.
     *
     * @returns milliseconds until a guess is free again; 0 if this guess was free, and is counted
     */
    take(address: string): number {
      const hash = sha256Hex(address);
      const { from, waitMs } = state(hash);
      if (waitMs > 0) return waitMs;
      // The entry is deleted and added again, so that the oldest address is the first one in the map.
      clearAt.delete(hash);
      clearAt.set(hash, from + REGAIN_MS);
      const oldest = clearAt.keys().next().value;
      if (clearAt.size > ADDRESSES_MAX && oldest !== undefined) clearAt.delete(oldest);
      return 0;
    },
    /** Undoes `take` for a guess that was right. */
    giveBack(address: string) {
      const hash = sha256Hex(address);
      const at = clearAt.get(hash);
      if (at !== undefined) clearAt.set(hash, at - REGAIN_MS);
    },
  };
}

/** How long a refusal is delayed after its address has sent too many wrong tokens. */
const HELD_MS = 500;
/**
 * The most refusals that are delayed at the same time (I9). Further refusals are sent without a delay, so that they
 * hold no connections.
 */
const HELD_MAX = 32;
const WARNED_EVERY_MS = 60_000;

export type WrongTokens = ReturnType<typeof createWrongTokens>;

/**
 * Delays refusals to addresses that send many wrong tokens, and logs a warning about them. The limits apply to all
 * these addresses together. The right token never waits here.
 */
export function createWrongTokens({ clock, log }: { clock: Clock; log: Logger }) {
  let held = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;

  function warn(address: string): void {
    const now = clock.ticks();
    if (now - warnedAt < WARNED_EVERY_MS) return;
    warnedAt = now;
    log.warn(
      { address },
      `Many wrong tokens for the dashboard come from ${address}: somebody tries tokens, or a script has an old token.`,
    );
  }

  return {
    /** Resolves when the refusal may be sent. */
    async note(address: string, { retryAfterMs }: { retryAfterMs: number }) {
      if (retryAfterMs === 0) return;
      warn(address);
      if (held >= HELD_MAX) return;
      held += 1;
      try {
        await clock.sleep(HELD_MS);
      } finally {
        held -= 1;
      }
    },
  };
}

/**
 * The most connections that are open at once. This is far less than the file descriptors of a process (1,024 on many
 * machines), because the ledger, the exports and the API need some as well (I9).
 */
export const CONNECTIONS_MAX = 128;

const LIMITS = {
  /** A form of the dashboard is sent in one packet. A client that takes longer only occupies a connection. */
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 1_000,
  /**
   * Longer than the minute for which most proxies keep an idle connection, so that the proxy closes the connection and
   * not this server.
   */
  keepAliveTimeout: 65_000,
  maxRequestsPerSocket: 1_000,
} as const;
/**
 * A connection without a byte in either direction is closed after this time, because a client that never reads its
 * answer must not occupy it for ever.
 */
const SILENT_MS = 60_000;

export type BoundedServers = ReturnType<typeof createBoundedServers>;

/**
 * Bounds the connections that clients without a login can occupy. If there is no room for one more connection, the
 * oldest one without a login is closed. So slow requests can only close each other's connections. A client with the
 * token counts as without a login only for the few milliseconds until its request has arrived, so its connection is
 * practically never closed.
 */
export function createBoundedServers(connectionsMax = CONNECTIONS_MAX) {
  // A set remembers the order in which its members came.
  const strangers = new Set<Socket>();
  const trusted = new Set<Socket>();

  function makeRoom(): void {
    if (strangers.size + trusted.size < connectionsMax) return;
    const [oldest] = strangers.size > 0 ? strangers : trusted;
    if (oldest !== undefined) drop(oldest);
  }

  function drop(socket: Socket): void {
    forget(socket);
    socket.destroy();
  }

  function forget(socket: Socket): void {
    strangers.delete(socket);
    trusted.delete(socket);
  }

  return {
    create(handler: RequestListener): Server {
      const server = createServer(LIMITS, handler);
      server.setTimeout(SILENT_MS);
      server.on('connection', (socket: Socket) => {
        makeRoom();
        strangers.add(socket);
        socket.once('close', () => forget(socket));
      });
      return server;
    },
    /** Call it when the client of a connection has logged in. */
    trust(socket: Socket) {
      if (strangers.delete(socket)) trusted.add(socket);
    },
  };
}
