import type { Outcome } from '../domain/delivery/outcome.ts';
import {
  type Count,
  type Listing,
  type ListOptions,
  type OnPage,
  type Pacing,
  REQUESTS_MAX,
} from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { createCleanText } from './answers/answer-text.ts';
import { createClassifier, meaningOf, NOTHING_EXPECTED } from './answers/classify.ts';
import { advisedRate, type RetryPolicy } from './answers/retries.ts';
import { bodyKindOf, type Credentials, createCredentials, type KeySource } from './credentials.ts';
import type { Endpoint } from './endpoints.ts';
import type { ListShape } from './listing/list-page.ts';
import { readCount, readListing, whyUnreadable } from './listing/listing.ts';
import { createListingPath, type KnownPaging, NOTHING_KNOWN } from './listing/paging-ways.ts';
import { createTransport, type Exchange, type HttpRequest, parseBaseUrl, type Transport } from './transport.ts';

export interface ApiOptions {
  /** The base URL: https, or http on loopback. Its path is the prefix of every endpoint. */
  baseUrl: string;
  profile: Profile;
  apiKey: KeySource;
  /** The key for publishing. Without it, the API key is used. */
  publishKey?: KeySource;
  /** Every key is added to it before the key is used (I7). */
  secrets: SecretStore;
  /** Gives each request its turn, except for deliveries and pings, which have it from the admission. */
  pacing: Pacing;
  clock: Clock;
  log: Logger;
  /** This program's version, for the User-Agent header. */
  version: string;
  /** The highest number of connections, and so of requests at a time. Further requests wait. */
  connections?: number;
  /** Numbers in [0, 1), for the jitter of waits. */
  random?: () => number;
  /** Replaces the HTTP connections to the origin of the base URL. */
  transport?: Transport;
}

/** A listing of the API. */
interface ListPlace<Entry> {
  endpoint: Endpoint;
  shape: ListShape<Entry>;
  signal?: AbortSignal | undefined;
}

interface Question {
  method: Endpoint['method'];
  path: string;
  body: string | null;
  bytesMax: number;
  totalMs: number;
  signal: AbortSignal | undefined;
}

/** Answers to single writes are small. The profile bounds listings. */
const WRITE_ANSWER_BYTES_MAX = 1_048_576;

/**
 * The parts that all requests to the API share: one origin, its connections, the keys and the classifier of answers.
 *
 * @throws Fault `config.invalid` for a base URL that would send the key unprotected
 */
export function createSession(options: ApiOptions) {
  const { profile, secrets, pacing, clock, log } = options;
  const baseUrl = parseBaseUrl(options.baseUrl);
  const clean = createCleanText(secrets);
  const classifier = createClassifier({ clean, now: () => clock.now(), unprocessed: profile.answers.unprocessed503 });
  const { headersMs, bodyMs, connectMs, totalMs } = profile.timeouts;
  const connections = options.connections ?? REQUESTS_MAX;
  const timeouts = { connectMs, headersMs, bodyMs };
  const transport = options.transport ?? createTransport({ origin: baseUrl.origin, connections, timeouts });

  const userAgent = `dpp-sync/${options.version}`;
  const mediaTypes = profile.requests;
  const key = createCredentials({ source: options.apiKey, name: 'target.apiKey', userAgent, mediaTypes, secrets, log });
  const publishKey = options.publishKey
    ? createCredentials({ source: options.publishKey, name: 'target.publishKey', userAgent, mediaTypes, secrets, log })
    : null;

  const { pageSize, sizeParameter } = profile.list;
  const knownPaging = new Map<string, KnownPaging>();
  const listQuery = pageSize === null ? '' : new URLSearchParams({ [sizeParameter]: String(pageSize) }).toString();
  const retryPolicy = (signal: AbortSignal | undefined): RetryPolicy => ({
    clock,
    random: options.random ?? Math.random,
    signal,
  });

  async function inTurn(request: HttpRequest): Promise<Exchange> {
    const turn = await pacing.turn(request.signal);
    if (!turn.granted) return unsent(turn.waitMs, turn.message);
    const exchange = await transport.exchange(request);
    const isDone = exchange.kind === 'answer' && exchange.cut === null && meaningOf(exchange.status) === 'done';
    // The body of a success shows nothing about the rate, and it may be long.
    const outcome: Outcome = isDone ? ACCEPTED : classifier.outcomeOf(exchange, NOTHING_EXPECTED);
    turn.ended(outcome, exchange.kind === 'answer' ? advisedRate(exchange.headers) : null);
    return exchange;
  }

  async function ask(credentials: Credentials, request: Question): Promise<Exchange> {
    const state = await credentials.current();
    if (!state.ok) return keyless(state.message);
    return inTurn({ ...request, headers: state.headers.forRead(bodyKindOf(request)) });
  }

  function firstPageOf({ endpoint, shape, signal }: ListPlace<unknown>) {
    const { first: path } = createListingPath({ baseUrl, endpointPath: endpoint.path, query: '' });
    const request = { method: 'GET', body: null, bytesMax: profile.answerBytesMax, totalMs, signal } as const;
    const read = (at: string) => ask(key, { ...request, path: at });
    return { ...retryPolicy(signal), read, classifier, shape, places: profile.list, path };
  }

  return {
    ...transport,
    profile,
    secrets,
    baseUrl,
    userAgent,
    clean,
    classifier,
    /** The key of data requests. */
    key,
    /** The key for publishing; null if publishing uses the same key. */
    publishKey,
    /** How many bytes of an answer are read. Listings have a separate bound. */
    answerBytesMax: Math.min(profile.answerBytesMax, WRITE_ANSWER_BYTES_MAX),
    retryPolicy,
    /** Waits for the turn of the request, and sends it once. */
    inTurn,
    /** Sends one request that changes nothing at the API, in its turn. The path includes the prefix of the base URL. */
    ask,
    /** Asks once how many entries a listing has. */
    count: (list: ListPlace<unknown>): Promise<Count> => readCount(firstPageOf(list)),
    /** Reads the first page of a listing. Returns why the listing cannot be read; null if it can. */
    whyUnreadable: (list: ListPlace<unknown>): Promise<string | null> => whyUnreadable(firstPageOf(list)),
    /** Reads a listing to its end. */
    list<Entry>(request: ListPlace<Entry> & ListOptions & { onPage: OnPage<Entry> }): Promise<Listing> {
      const { endpoint, shape, onPage, signal, from } = request;
      const known = knownPaging.get(endpoint.path) ?? structuredClone(NOTHING_KNOWN);
      knownPaging.set(endpoint.path, known);
      const question = { method: 'GET', body: null, bytesMax: profile.answerBytesMax, totalMs, signal } as const;
      return readListing({
        ...retryPolicy(signal),
        read: (at) => ask(key, { ...question, path: at }),
        classifier,
        shape,
        places: profile.list,
        list: profile.list,
        path: createListingPath({ baseUrl, endpointPath: endpoint.path, query: listQuery }),
        holdsSecret: (at) => secrets.isInIdentifier(at),
        known,
        onPage,
        from,
      });
    },
  };
}

export type Session = ReturnType<typeof createSession>;

const ACCEPTED: Outcome = { kind: 'accepted', evidence: 'bare', remoteId: null };

/** The result of a request that did not get its turn. */
function unsent(waitMs: number | null, message: string): Exchange {
  return { kind: 'silence', sent: false, loss: waitMs === null ? { by: 'abort' } : { by: 'wait', waitMs, message } };
}

/** The result of a request without a usable key. */
export function keyless(message: string): Exchange {
  return { kind: 'silence', sent: false, loss: { by: 'key', message } };
}
