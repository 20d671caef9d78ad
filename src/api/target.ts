import type { Operation } from '../domain/delivery.ts';
import { kindOf } from '../domain/delivery.ts';
import { fault } from '../domain/faults.ts';
import type { ListableKind, Target } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging.ts';
import type { SecretStore } from '../lib/secrets.ts';
import { parseBaseUrl } from './base-url.ts';
import { createJudge, type Expectation } from './classify.ts';
import { createCleanText } from './clean-text.ts';
import { type Credentials, createCredentials, type KeySource } from './credentials.ts';
import { encodeWrite, wireNameOf } from './encode.ts';
import { type Endpoint, isSupported, LIST_ENDPOINTS, type SupportedOperation, WRITE_ENDPOINTS } from './endpoints.ts';
import { readListing } from './listing.ts';
import { probeScopes } from './probe.ts';
import { createTransport, type Exchange } from './transport.ts';

export interface TargetOptions {
  /** https, or http on loopback; a path is kept as a prefix of every endpoint. */
  baseUrl: string;
  profile: Profile;
  apiKey: KeySource;
  /** A key of its own for publishing; without it the API key serves for that too. */
  publishKey?: KeySource;
  /** Learns every key before it is used (I7). */
  secrets: SecretStore;
  clock: Clock;
  log: Logger;
  /** This program's version, for the User-Agent header. */
  version: string;
  /** Connections at most, and with that requests at a time: further ones wait. */
  connections?: number;
  /** Numbers in [0, 1), for the jitter of waits. */
  random?: () => number;
}

const CONNECTIONS = 64;
/** Somebody is waiting for the answer to a probe. */
const PROBE_TOTAL_MS = 10_000;
/** Answers to single writes are small; listings have the profile's own bound. */
const WRITE_ANSWER_BYTES_MAX = 1_048_576;

/**
 * The client of the DPP platform's API: one origin, redirects never followed, nothing repeated by itself except the
 * pages of a listing.
 *
 * @throws Fault `config.invalid` for a base URL that would send the key unprotected
 */
export function createTarget(options: TargetOptions): Target {
  const { profile, secrets, clock, log } = options;
  const baseUrl = parseBaseUrl(options.baseUrl);
  const { origin, prefix } = baseUrl;
  const clean = createCleanText(secrets);
  const judge = createJudge({ clean, now: () => clock.now() });
  const { headersMs, bodyMs, connectMs, totalMs } = profile.timeouts;
  const connections = options.connections ?? CONNECTIONS;
  const transport = createTransport({ origin, connections, timeouts: { connectMs, headersMs, bodyMs } });

  const userAgent = `dpp-sync/${options.version}`;
  const credentials = createCredentials({ source: options.apiKey, name: 'target.apiKey', userAgent, secrets, log });
  const publishCredentials =
    options.publishKey &&
    createCredentials({ source: options.publishKey, name: 'target.publishKey', userAgent, secrets, log });

  const expectations = expectationsUnder(profile);
  const answerBytesMax = Math.min(profile.answerBytesMax, WRITE_ANSWER_BYTES_MAX);
  const { pageSize, sizeParameter } = profile.list;
  const listQuery = pageSize === null ? '' : new URLSearchParams({ [sizeParameter]: String(pageSize) }).toString();

  /** Sends one request that leaves nothing behind, for reading and probing. */
  async function ask(
    key: Credentials,
    request: { method: Endpoint['method']; path: string; body: string | null; bytesMax: number; totalMs: number },
    signal: AbortSignal | undefined,
  ): Promise<Exchange> {
    const state = await key.current();
    if (!state.ok) return keyless(state.message);
    const headers = state.headers.forRead(request.body !== null);
    return transport.exchange({ ...request, headers, signal });
  }

  return {
    encode: (write) => encodeWrite(write, profile),

    async send(write, signal) {
      const { operation } = write;
      if (!isSupported(operation)) throw fault('internal', `The API has no endpoint for ${operation}.`);
      const current = credentials.current();
      const state = current instanceof Promise ? await current : current;
      if (!state.ok) return { outcome: judge.outcomeOf(keyless(state.message), expectations[operation]), latencyMs: 0 };
      // A monotonic clock: the wall clock may be set while the request is under way.
      const begin = performance.now();
      const exchange = await transport.exchange({
        method: WRITE_ENDPOINTS[operation].method,
        path: prefix + write.path,
        headers: state.headers.forWrite(write.idempotencyKey, write.body !== null),
        body: write.body,
        totalMs,
        bytesMax: answerBytesMax,
        signal,
      });
      const latencyMs = performance.now() - begin;
      return { outcome: judge.outcomeOf(exchange, expectations[operation]), latencyMs };
    },

    list(kind, onPage, signal) {
      const request = { method: 'GET', body: null, bytesMax: profile.answerBytesMax, totalMs } as const;
      return readListing({
        read: (path) => ask(credentials, { ...request, path }, signal),
        judge,
        clean,
        clock,
        random: options.random ?? Math.random,
        shape: {
          idPaths: profile.idPaths[kind],
          naturalKeyFields: naturalNamesOf(profile, kind),
          itemsAt: profile.list.itemsAt,
        },
        baseUrl,
        endpointPath: LIST_ENDPOINTS[kind].path,
        query: listQuery,
        pageParameter: profile.list.pageParameter,
        onPage,
        signal,
      });
    },

    probe(signal) {
      const asker = (key: Credentials) => (method: Endpoint['method'], path: string, body: string | null) =>
        ask(key, { method, path: prefix + path, body, bytesMax: answerBytesMax, totalMs: PROBE_TOTAL_MS }, signal);
      return probeScopes({
        judge,
        listQuery,
        ask: asker(credentials),
        askToPublish: asker(publishCredentials ?? credentials),
      });
    },

    async rereadKey() {
      const changed = await Promise.all([credentials.reread(), publishCredentials?.reread() ?? false]);
      return changed.includes(true);
    },

    close: () => transport.close(),
  };
}

function keyless(message: string): Exchange {
  return { kind: 'silence', sent: false, loss: { by: 'key', message } };
}

function expectationsUnder(profile: Profile): Record<SupportedOperation, Expectation> {
  const of = (operation: Operation, needsId: boolean, uniqueFields: string[]): Expectation => ({
    needsId,
    idPaths: profile.idPaths[kindOf(operation)],
    uniqueFields,
  });
  return {
    'product.create': of('product.create', true, naturalNamesOf(profile, 'product')),
    'material.create': of('material.create', true, naturalNamesOf(profile, 'material')),
    'material.update': of('material.update', false, []),
    // Nothing points to a BOM item, and the API has neither a read nor an update of one.
    'bom_item.create': of('bom_item.create', false, []),
  };
}

/** What the fields of the natural key are called on the wire, in the profile's order. */
function naturalNamesOf(profile: Profile, kind: ListableKind): string[] {
  return profile.naturalKeys[kind].map((name) => wireNameOf(profile, kind, name));
}
