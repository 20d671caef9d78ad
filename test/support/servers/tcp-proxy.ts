import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../runner/chaos.ts';
import { freePort } from './free-port.ts';

/** A fault of a network. `toward` is the direction of the affected data. */
export type Toxic =
  /** Each piece of data arrives late. */
  | { kind: 'latency'; ms: number; jitterMs: number }
  /** New connections are refused, and open ones are reset. */
  | { kind: 'down' }
  /** A connection is reset on both sides after this many bytes toward one side. These bytes are not delivered. */
  | { kind: 'reset'; toward: 'server' | 'client'; afterBytes: number }
  /** A connection is reset on both sides some time after it was opened. */
  | { kind: 'expire'; afterMs: number }
  /** One side learns late that the other has closed the connection. */
  | { kind: 'slow-close'; ms: number }
  /** Data are delivered in small pieces. */
  | { kind: 'slicer'; bytes: number; delayMs: number }
  /** New connections are accepted, and then get neither an answer nor an end. */
  | { kind: 'half-open' }
  /** Open connections lose one side without a notice: from then on every byte is dropped, and no end is reported. */
  | { kind: 'vanished'; toward: 'server' | 'client' | 'both' }
  | { kind: 'bandwidth'; bytesPerSecond: number };

/** A TCP proxy before one server. A test can change its toxics at any time. */
export interface TcpProxy {
  port: number;
  /** The number of connections that were accepted so far. */
  accepted(): number;
  /**
   * The number of times that a toxic had an effect so far: a reset, a dropped piece of data, a refused or dead
   * connection.
   */
  harmed(): number;
  /** Replaces the present toxics. Without arguments, the network has no faults. */
  set(...toxics: Toxic[]): Promise<void>;
  close(): Promise<void>;
}

interface Link {
  client: Socket;
  server: Socket | null;
  openedAt: number;
  /** Directions in which nothing is delivered any more, even if the toxics change. */
  dead: Set<'server' | 'client'>;
  bytes: { server: number; client: number };
}

/** @param target the port of the server on this machine */
export async function startTcpProxy(target: number, seed = 1): Promise<TcpProxy> {
  const random = seededRandom(seed);
  const links = new Set<Link>();
  let toxics: readonly Toxic[] = [];
  let accepted = 0;
  let harmed = 0;
  let closing = false;

  function find<K extends Toxic['kind']>(kind: K): Extract<Toxic, { kind: K }> | undefined {
    return toxics.find((one): one is Extract<Toxic, { kind: K }> => one.kind === kind);
  }

  function drop(link: Link): void {
    links.delete(link);
    for (const socket of [link.client, link.server]) if (socket && !socket.destroyed) socket.resetAndDestroy();
  }

  function accept(client: Socket): void {
    accepted += 1;
    const link: Link = {
      client,
      server: null,
      openedAt: performance.now(),
      dead: new Set(),
      bytes: { server: 0, client: 0 },
    };
    links.add(link);
    client.on('error', () => drop(link));
    if (find('half-open')) {
      harmed += 1;
      client.resume();
      return;
    }
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    link.server = server;
    server.on('error', () => drop(link));
    const ends = [carry(link, client, server, 'server'), carry(link, server, client, 'client')];
    void Promise.all(ends).finally(() => {
      // A dead link stays open, because both of its ends must take it for a working one.
      if (link.dead.size === 0) links.delete(link);
    });
  }

  /** Delivers data from one socket to the other, under the present toxics. */
  async function carry(link: Link, from: Socket, to: Socket, toward: 'server' | 'client'): Promise<void> {
    try {
      for await (const piece of from) await hand(link, to, toward, piece as Buffer);
      if (isLost(link, toward)) return;
      const late = find('slow-close');
      if (late) await delay(late.ms, undefined, { ref: false });
      to.end();
    } catch {
      // A broken socket ends its link.
      drop(link);
    }
  }

  function isLost(link: Link, toward: 'server' | 'client'): boolean {
    const vanished = find('vanished');
    if (vanished && (vanished.toward === toward || vanished.toward === 'both')) link.dead.add(toward);
    return link.dead.has(toward);
  }

  async function hand(link: Link, to: Socket, toward: 'server' | 'client', piece: Buffer): Promise<void> {
    link.bytes[toward] += piece.length;
    const latency = find('latency');
    if (latency) await delay(latency.ms + random() * latency.jitterMs);
    const reset = toxics.find(
      (one) => one.kind === 'reset' && one.toward === toward && link.bytes[toward] > one.afterBytes,
    );
    const expire = find('expire');
    if (reset || (expire && performance.now() - link.openedAt > expire.afterMs)) {
      harmed += 1;
      drop(link);
    }
    if (isLost(link, toward)) {
      harmed += 1;
      return;
    }
    const slicer = find('slicer');
    const bandwidth = find('bandwidth');
    const sliceBytes = slicer?.bytes ?? piece.length;
    for (let at = 0; at < piece.length && to.writable; at += sliceBytes) {
      const slice = piece.subarray(at, at + sliceBytes);
      if (!to.write(slice)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
      if (slicer) await delay(slicer.delayMs);
      if (bandwidth) await delay((slice.length * 1000) / bandwidth.bytesPerSecond);
    }
  }

  async function listen(port: number): Promise<Server> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }

  async function stopListening(server: Server): Promise<void> {
    const closed = once(server, 'close');
    server.close();
    for (const link of links) drop(link);
    await closed;
  }

  const port = await freePort();
  let server: Server | null = await listen(port);
  return {
    port,
    accepted: () => accepted,
    harmed: () => harmed,
    async set(...next) {
      toxics = next;
      if (find('down') && server) {
        harmed += 1;
        const stopped = server;
        server = null;
        await stopListening(stopped);
      } else if (!find('down') && !server && !closing) {
        server = await listen(port);
      }
    },
    async close() {
      closing = true;
      const stopped = server;
      server = null;
      if (stopped) await stopListening(stopped);
      for (const link of links) drop(link);
    },
  };
}
