import type { ByteSink, PdfResult, PlatformReader, Publication, RemoteId, Report } from '../domain/ports/target.ts';
import type { Profile } from '../domain/profile.ts';
import { sha256Url } from '../lib/hash.ts';
import { canonicalJson, isJsonObject, type JsonValue } from '../lib/json.ts';
import { type AnswerHeaders, retryAfterMs } from '../lib/retry-after.ts';
import { type CleanText, fieldsIn } from './answers/answer-text.ts';
import { type Expectation, isUnfinished, meaningOf, NOTHING_EXPECTED, unreadableAnswer } from './answers/classify.ts';
import { identifierAt, remoteIdIn, timeAt, urlAt, whyNoId, wordAt } from './answers/entry.ts';
import { type Attempt, withRetries } from './answers/retries.ts';
import { ENDPOINTS, pathOf } from './endpoints.ts';
import type { ListShape, NoEntry, ReadEntry } from './listing/list-page.ts';
import { sendOnce } from './send.ts';
import { keyless, type Session } from './session.ts';
import type { BaseUrl, BodyReceiver } from './transport.ts';

/** Reads what the platform has besides the catalogue, and creates reports. */
export function createReader(session: Session): PlatformReader {
  const { profile, clean, key } = session;
  const publications = publicationShape(profile, session);
  const reports = reportShape(profile, clean);
  const expectation: Expectation = { needsId: false, idPaths: profile.reports.idPaths, uniqueFields: [] };

  return {
    publications: (onPage, options) =>
      session.list({ endpoint: ENDPOINTS['publication.list'], shape: publications, onPage, ...options }),

    passportPdf: (productId, sink, signal) => readPassportPdf(session, productId, { sink, signal }),

    reports: (onPage, options) =>
      session.list({ endpoint: ENDPOINTS['report.list'], shape: reports, onPage, ...options }),

    createReport({ body, idempotencyKey }, signal) {
      const { method, path } = ENDPOINTS['report.create'];
      const write = { method, path, body: canonicalJson(body), idempotencyKey, expectation };
      return sendOnce(session, { ...write, exchange: session.inTurn, credentials: key, signal });
    },
  };
}

/** Reads entries of the list of reports ("Endpoints"; the document shows none of their fields). */
function reportShape(profile: Profile, clean: CleanText): ListShape<Report> {
  const paths = profile.reports;

  function read(entry: JsonValue): ReadEntry<Report> | NoEntry {
    const id = remoteIdIn(entry, paths, clean);
    if (id === null || !isJsonObject(entry)) return { noId: whyNoId(entry, paths, clean) };
    const fields = fieldsIn(entry, profile.list.entry);
    return {
      identity: id,
      entry: {
        id,
        type: wordAt(fields, paths.typePaths, clean)?.shown ?? null,
        status: wordAt(fields, paths.statusPaths, clean)?.shown ?? null,
        createdAt: timeAt(fields, paths.createdAtPaths, clean),
        content: entry,
      },
    };
  }
  return { itemsAt: profile.list.itemsAt, read };
}

/** Reads entries of the list of publications ("Endpoints"; the document shows none of their fields). */
export function publicationShape(
  profile: Profile,
  { baseUrl, clean }: { baseUrl: BaseUrl; clean: CleanText },
): ListShape<Publication> {
  const paths = profile.publications;
  const publicStates = new Set(paths.publicStates.map((state) => state.toLowerCase()));

  const product = { idPaths: paths.productIdPaths, idUrlPaths: paths.productUrlPaths };
  const any = {
    idPaths: [...paths.productIdPaths, ...paths.idPaths, ...paths.skuPaths],
    idUrlPaths: paths.productUrlPaths,
  };

  function read(entry: JsonValue): ReadEntry<Publication> | NoEntry {
    const fields = fieldsIn(entry, profile.list.entry);
    // A value may be beside the fields, such as the product in `relationships`.
    const first = <Found>(find: (place: JsonValue) => Found | null): Found | null => find(fields) ?? find(entry);
    const id = remoteIdIn(entry, paths, clean);
    const productId = first((place) => remoteIdIn(place, product, clean));
    const sku = first((place) => identifierAt(place, paths.skuPaths, clean));
    // Without any of these fields the product of the publication is unknown.
    if (id === null && productId === null && sku === null) return { noId: whyNoId(entry, any, clean) };
    const status = first((place) => wordAt(place, paths.statusPaths, clean));
    const isWithdrawn = first((place) => wordAt(place, paths.withdrawnAtPaths, clean)) !== null;
    return {
      identity: id ?? sha256Url(canonicalJson(entry)),
      entry: {
        id,
        productId,
        sku,
        status: status?.shown ?? null,
        isPublic: !isWithdrawn && (status === null || publicStates.has(status.said.toLowerCase())),
        publishedAt: first((place) => timeAt(place, paths.publishedAtPaths, clean)),
        withdrawnAt: first((place) => timeAt(place, paths.withdrawnAtPaths, clean)),
        url: first((place) => urlAt(place, paths.urlPaths, { origin: baseUrl.origin, clean })),
      },
    };
  }
  return { itemsAt: profile.list.itemsAt, read };
}

const ENDPOINT = ENDPOINTS['passport.pdf'];

/** The beginning and the end of a PDF (ISO 32000-2, 7.5.2 and 7.5.5). */
const HEADER = Buffer.from('%PDF-');
const TRAILER = Buffer.from('%%EOF');
/** Readers look for the trailer in the last 1,024 bytes. */
const TAIL_BYTES = 1_024;

/** Content types of a PDF. A missing type is accepted, because the first bytes decide. */
const PDF_TYPE = /^(?:application\/(?:pdf|x-pdf|octet-stream)|binary\/octet-stream)\s*(?:;|$)/i;

/**
 * Reads a passport as PDF ("Endpoints", "Payload shapes": a PDF document) into the sink, within the profile's
 * `pdfBytesMax`. A failure that may pass is tried again as long as nothing has reached the sink.
 *
 * @throws the error of the sink
 */
async function readPassportPdf(
  session: Session,
  productId: RemoteId,
  { sink, signal }: { sink: ByteSink; signal: AbortSignal | undefined },
): Promise<PdfResult> {
  const path = session.baseUrl.prefix + pathOf(ENDPOINT, productId);
  const retryPolicy = session.retryPolicy(signal);
  const now = () => retryPolicy.clock.now();
  const result = await withRetries(retryPolicy, () => readOnce(session, path, { sink, now, signal }));
  return result.ok ? { ok: true, bytes: result.value } : { ok: false, outcome: result.outcome };
}

async function readOnce(
  session: Session,
  path: string,
  { sink, now, signal }: { sink: ByteSink; now: () => number; signal: AbortSignal | undefined },
): Promise<Attempt<number>> {
  const { classifier, profile, key, clean } = session;
  const state = await key.current();
  if (!state.ok) return { ok: false, outcome: classifier.outcomeOf(keyless(state.message), NOTHING_EXPECTED) };
  const intake = createIntake(sink, profile.pdfBytesMax);
  const exchange = await session.inTurn({
    method: ENDPOINT.method,
    path,
    headers: state.headers.forDocument('application/pdf'),
    body: null,
    totalMs: profile.timeouts.totalMs,
    bytesMax: session.answerBytesMax,
    receive: (status, headers) => (isPdf(status, headers) ? intake.receiver : null),
    signal,
  });
  await intake.finish();
  if (exchange.kind === 'silence' || meaningOf(exchange.status) !== 'done') {
    return { ok: false, outcome: classifier.outcomeOf(exchange, NOTHING_EXPECTED) };
  }
  const { status, headers, cut } = exchange;
  const useless = (reason: string): Attempt<number> => ({
    ok: false,
    outcome: unreadableAnswer(status, `The API answered with ${status}${reason}.`),
    final: true,
  });
  if (isUnfinished(status)) {
    const detail = { status, message: 'The API is still making the PDF.' };
    const waitMs = retryAfterMs(headers, now());
    return { ok: false, outcome: { kind: 'unavailable', sent: true, retryAfterMs: waitMs, detail } };
  }
  if (!isPdf(status, headers)) return useless(` and ${clean(typeText(headers), 100)} in place of a PDF`);
  if (intake.isOther()) return useless(', but its content does not begin like a PDF');
  // The bytes in the sink cannot be removed, so there is no second try.
  if (cut !== null) {
    return { ok: false, outcome: classifier.outcomeOf(exchange, NOTHING_EXPECTED), final: intake.bytes() > 0 };
  }
  if (intake.bytes() === 0) return useless(' and sent nothing');
  return intake.hasEnd() ? { ok: true, value: intake.bytes() } : useless(', but the PDF that it sent has no end');
}

function isPdf(status: number, headers: AnswerHeaders): boolean {
  const type = typeText(headers);
  return meaningOf(status) === 'done' && !isUnfinished(status) && (type === NO_TYPE || PDF_TYPE.test(type));
}

const NO_TYPE = 'no type';

function typeText(headers: AnswerHeaders): string {
  const given = headers['content-type'];
  return (Array.isArray(given) ? given[0] : given)?.trim() || NO_TYPE;
}

/** Checks the bytes before they reach the sink. */
function createIntake(sink: ByteSink, bytesMax: number) {
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let bytes = 0;
  let other = false;
  let writing: Promise<void> = Promise.resolve();
  let failure: { error: unknown } | null = null;

  async function write(chunk: Buffer): Promise<void> {
    let piece = chunk;
    if (bytes === 0) {
      head = Buffer.concat([head, chunk]);
      other = !head.subarray(0, HEADER.length).equals(HEADER.subarray(0, head.length));
      if (other) throw new Error('not a PDF');
      if (head.length < HEADER.length) return;
      piece = head;
    }
    bytes += piece.length;
    tail = Buffer.concat([tail, piece.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
    try {
      await sink.write(piece);
    } catch (error) {
      failure = { error };
      throw error;
    }
  }

  const receiver: BodyReceiver = {
    bytesMax,
    write(chunk) {
      writing = write(chunk);
      return writing;
    },
  };

  return {
    receiver,
    /** The number of bytes that the sink has received. */
    bytes: () => bytes,
    /** True if the first bytes were not those of a PDF. */
    isOther: () => other,
    hasEnd: () => tail.includes(TRAILER),
    /** Waits for the sink, which may still write after the request was aborted. */
    async finish() {
      // A rejection was already handled: `other` was set, or the failure of the sink was stored.
      await writing.catch(() => undefined);
      if (failure !== null) throw failure.error;
    },
  };
}
