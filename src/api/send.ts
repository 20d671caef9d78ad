import type { RemoteItem, SendResult } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import type { JsonValue } from '../lib/json.ts';
import type { AnswerHeaders } from '../lib/retry-after.ts';
import { valueAt } from './answers/answer-text.ts';
import { type Expectation, unreadableAnswer } from './answers/classify.ts';
import { advisedRate } from './answers/retries.ts';
import { idInPath } from './answers/sent-identity.ts';
import { bodyKindOf, type Credentials, type KeyState } from './credentials.ts';
import { type Endpoint, LIST_ENDPOINTS } from './endpoints.ts';
import type { ListShape } from './listing/list-page.ts';
import { keyless, type Session } from './session.ts';
import type { Transport } from './transport.ts';

/** A write, with the key that sends it. */
type Keyed = Outgoing & { credentials: Credentials };

/** Precondition Failed and Precondition Required (RFC 9110, section 15.5.13; RFC 6585, section 3). */
const PRECONDITION_STATUSES: ReadonlySet<number | null> = new Set([412, 428]);

/** Sends creates and changes of materials, which are the only items that the API can change. */
export function createVersionedSender(session: Session, listShape: ListShape<RemoteItem>) {
  const { ifMatch } = session.profile.requests;
  const tags = createEntityTags(session.profile);
  /** The shape of the list of materials, from whose entries the versions are learnt. */
  const shape = tags.watched(listShape);
  const { material: endpoint } = LIST_ENDPOINTS;

  async function sendChange(outgoing: Keyed): Promise<SendResult> {
    const id = idInPath(outgoing.path);
    const { signal } = outgoing;
    const readList = () => session.list({ endpoint, shape, onPage: () => Promise.resolve(), signal });
    const tag = await tags.ifMatch(id, readList);
    const result = await sendLearning({ ...outgoing, ...(tag !== null && { further: ['If-Match', tag] }) }, () => id);
    const { outcome } = result;
    if (outcome.kind !== 'refused' || !PRECONDITION_STATUSES.has(outcome.detail.status)) return result;
    const { status, message } = outcome.detail;
    if (ifMatch !== 'etag') {
      const cure = 'If the platform asks for the version of the material, set `requests.ifMatch` in the profile.';
      return { ...result, outcome: { ...outcome, detail: { ...outcome.detail, message: `${message} ${cure}` } } };
    }
    // The change was not done. It is sent again like an unconfirmed one: after a wait, and a bounded number of times.
    tags.outdated(id);
    const again =
      'The material has another version at the platform. dpp-sync reads its list and sends the change again.';
    return { ...result, outcome: unreadableAnswer(status, `${message} ${again}`) };
  }

  /** Learns the version from the answer to a write. */
  async function sendLearning(outgoing: Keyed, idOf: (remoteId: unknown) => string): Promise<SendResult> {
    let headers: AnswerHeaders = {};
    const onHeaders = (given: AnswerHeaders): void => {
      headers = given;
    };
    const result = await sendOnce(session, { ...outgoing, onHeaders });
    if (result.outcome.kind === 'accepted') tags.written(idOf(result.outcome.remoteId), headers);
    return result;
  }

  return {
    shape,
    /** Sends a write once. A change has the version that it replaces, if the profile says so. */
    send: (outgoing: Keyed): Promise<SendResult> =>
      outgoing.method === 'PATCH' ? sendChange(outgoing) : sendLearning(outgoing, String),
  };
}

// The versions of materials (RFC 9110, section 8.8.3: ETag), for platforms that take a change only with `If-Match`.
// They come from lists and from the answers to writes, and are kept as long as the process runs.

/** The number of materials whose tags are kept. */
const TAGS_MAX = 200_000;
const TAG = /^(?:W\/)?"[\x21\x23-\x7e]{0,255}"$/;
const PLAIN = /^[\x21\x23-\x7e]{1,255}$/;

interface EntityTags {
  /**
   * The value of `If-Match` for a change of an item; null to send none. Reads the list of items once for all items whose
   * tag is not known, or is outdated.
   *
   * @param readList reads the list of items. It shows its entries to `watched`
   */
  ifMatch(id: string, readList: () => Promise<unknown>): Promise<string | null>;
  /** Takes the tag from the answer to a write that was accepted. Without one the old tag is outdated. */
  written(id: string, headers: AnswerHeaders): void;
  /** The platform has refused the tag: somebody else has changed the item. */
  outdated(id: string): void;
  /** The same shape of a list, whose tags are taken when its entries are read. */
  watched<Entry>(shape: ListShape<Entry>): ListShape<Entry>;
}

function createEntityTags({ requests, list }: Profile): EntityTags {
  /** The tag of each item, or the number of listings that had begun when its tag was lost. */
  const known = new Map<string, { tag: string } | { lostAfter: number }>();
  let begun = 0;
  let reading: Promise<unknown> | null = null;
  const places = requests.ifMatch === 'etag' ? list.etagAt : [];

  function remember(id: string, value: { tag: string } | { lostAfter: number }): void {
    known.delete(id);
    known.set(id, value);
    const [oldest] = known.keys();
    if (known.size > TAGS_MAX && oldest !== undefined) known.delete(oldest);
  }

  function tagOf(id: string): string | null {
    const one = known.get(id);
    return one !== undefined && 'tag' in one ? one.tag : null;
  }

  /** True if no listing has begun since the tag was lost. Other listings would show no other tag. */
  function needsList(id: string): boolean {
    const one = known.get(id);
    if (one === undefined) return begun === 0;
    return 'lostAfter' in one && one.lostAfter === begun;
  }

  function lose(id: string): void {
    if (requests.ifMatch === 'etag') remember(id, { lostAfter: begun });
  }

  async function readAgain(readList: () => Promise<unknown>): Promise<void> {
    if (reading === null) {
      begun += 1;
      reading = readList().finally(() => {
        reading = null;
      });
    }
    await reading;
  }

  return {
    async ifMatch(id, readList) {
      if (requests.ifMatch !== 'etag') return requests.ifMatch === 'any' ? '*' : null;
      if (tagOf(id) === null && places.length > 0) {
        if (reading !== null) await reading;
        if (tagOf(id) === null && needsList(id)) await readAgain(readList);
      }
      return tagOf(id);
    },
    written(id, headers) {
      const tag = tagIn(headers['etag']);
      if (requests.ifMatch === 'etag' && tag !== null) remember(id, { tag });
      else lose(id);
    },
    outdated: lose,
    watched: (shape) =>
      places.length === 0
        ? shape
        : {
            ...shape,
            read(entry) {
              const read = shape.read(entry);
              const tag = places.map((path) => tagIn(valueAt(entry, path))).find((one) => one !== null);
              if (!('noId' in read) && tag !== undefined && tag !== null) remember(String(read.identity), { tag });
              return read;
            },
          },
  };
}

/** A tag as it is sent. A version without quotes, such as the number 3, gets them. */
function tagIn(value: JsonValue | string[] | undefined): string | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  if (TAG.test(text)) return text;
  return PLAIN.test(text) ? `"${text}"` : null;
}

/** A write that is ready to be sent. */
interface Outgoing {
  method: Endpoint['method'];
  /** The path below the base URL. */
  path: string;
  body: string | null;
  idempotencyKey: string;
  expectation: Expectation;
  /** Further headers: names and values, alternating. */
  further?: readonly string[];
  /** Called with the headers of the answer. */
  onHeaders?: (headers: AnswerHeaders) => void;
  /** `inTurn` for a write that has no slot of the admission yet. */
  exchange: Transport['exchange'];
  signal: AbortSignal | undefined;
}

/** Sends a write once with an API key and classifies the answer. Never rejects. */
export function sendOnce(
  session: Session,
  { credentials, ...write }: Outgoing & { credentials: Credentials },
): Promise<SendResult> {
  const sendUnder = (state: KeyState): Promise<SendResult> => {
    if (!state.ok) {
      const outcome = session.classifier.outcomeOf(keyless(state.message), write.expectation);
      return Promise.resolve({ outcome, latencyMs: 0 });
    }
    const headers = [...state.headers.forWrite(write.idempotencyKey, bodyKindOf(write)), ...(write.further ?? [])];
    return sendWith(session, { ...write, headers });
  };
  const current = credentials.current();
  return current instanceof Promise ? current.then(sendUnder) : sendUnder(current);
}

/** Sends a write once with the given headers and classifies the answer. Never rejects. */
export async function sendWith(
  session: Session,
  write: Omit<Outgoing, 'idempotencyKey'> & { headers: string[] },
): Promise<SendResult> {
  const { method, path, body, headers, expectation, exchange, signal } = write;
  const { baseUrl, profile, classifier, answerBytesMax } = session;
  // The latency is measured with a monotonic clock, because the wall clock may be set while the request is in flight.
  const begin = performance.now();
  const answer = await exchange({
    method,
    path: baseUrl.prefix + path,
    headers,
    body,
    totalMs: profile.timeouts.totalMs,
    bytesMax: answerBytesMax,
    signal,
  });
  const latencyMs = performance.now() - begin;
  if (answer.kind === 'answer') write.onHeaders?.(answer.headers);
  const advised = answer.kind === 'answer' ? advisedRate(answer.headers) : null;
  return { outcome: classifier.outcomeOf(answer, expectation), latencyMs, advisedRate: advised };
}
