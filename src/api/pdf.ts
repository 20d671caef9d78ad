import type { ByteSink, PdfResult, RemoteId } from '../domain/ports/platform.ts';
import { isUnfinished, meaningOf, NOTHING_EXPECTED, unreadableAnswer } from './classify.ts';
import { ENDPOINTS, pathOf } from './endpoints.ts';
import { type Attempt, patiently } from './patience.ts';
import { retryAfterMs } from './retry-after.ts';
import { keyless, type Session } from './session.ts';
import type { AnswerHeaders, BodyReceiver } from './transport.ts';

const ENDPOINT = ENDPOINTS['passport.pdf'];

/** ISO 32000-2, 7.5.2 and 7.5.5: what a PDF begins and ends with. */
const HEADER = Buffer.from('%PDF-');
const TRAILER = Buffer.from('%%EOF');
/** Readers look for the trailer in the last 1,024 bytes. */
const TAIL_BYTES = 1_024;

/** Types under which servers send a PDF. A missing one is no reason to doubt: the first bytes decide. */
const PDF_TYPE = /^(?:application\/(?:pdf|x-pdf|octet-stream)|binary\/octet-stream)\s*(?:;|$)/i;

/**
 * Reads a passport as PDF ("Endpoints", "Payload shapes": a PDF document) into the sink, within the profile's
 * `pdfBytesMax`. A failure that may pass is tried again as long as nothing has reached the sink.
 *
 * @throws what the sink rejects with
 */
export async function readPassportPdf(
  session: Session,
  productId: RemoteId,
  { sink, signal }: { sink: ByteSink; signal: AbortSignal | undefined },
): Promise<PdfResult> {
  const path = session.baseUrl.prefix + pathOf(ENDPOINT, productId);
  const patience = session.patience(signal);
  const now = () => patience.clock.now();
  const result = await patiently(patience, () => readOnce(session, path, { sink, now, signal }));
  return result.ok ? { ok: true, bytes: result.value } : { ok: false, outcome: result.outcome };
}

async function readOnce(
  session: Session,
  path: string,
  { sink, now, signal }: { sink: ByteSink; now: () => number; signal: AbortSignal | undefined },
): Promise<Attempt<number>> {
  const { judge, profile, key, clean } = session;
  const state = await key.current();
  if (!state.ok) return { ok: false, outcome: judge.outcomeOf(keyless(state.message), NOTHING_EXPECTED) };
  const intake = createIntake(sink, profile.pdfBytesMax);
  const exchange = await session.exchange({
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
    return { ok: false, outcome: judge.outcomeOf(exchange, NOTHING_EXPECTED) };
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
  if (intake.isOther()) return useless(', but what it sent does not begin as a PDF does');
  // What the sink was given cannot be taken back, so there is no second try then.
  if (cut !== null) {
    return { ok: false, outcome: judge.outcomeOf(exchange, NOTHING_EXPECTED), final: intake.bytes() > 0 };
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

/** Checks the bytes on their way to the sink. */
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
    /** Bytes that the sink was given. */
    bytes: () => bytes,
    /** True when the first bytes were those of something else. */
    isOther: () => other,
    hasEnd: () => tail.includes(TRAILER),
    /** Waits for the sink, which may still be at work after the request was given up. */
    async finish() {
      // A rejection is known already: as `other`, or as the sink's failure.
      await writing.catch(() => undefined);
      if (failure !== null) throw failure.error;
    },
  };
}
