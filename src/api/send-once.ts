import type { SendResult } from '../domain/ports/target.ts';
import { advisedRate } from './advised-rate.ts';
import type { Expectation } from './answers/classify.ts';
import { bodyKindOf, type Credentials, type KeyState } from './credentials.ts';
import type { Endpoint } from './endpoints.ts';
import { keyless, type Session } from './session.ts';
import type { AnswerHeaders, Transport } from './transport.ts';

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
}

/** Sends a write once with an API key and classifies the answer. Never rejects. */
export function sendOnce(
  session: Session,
  { credentials, signal, ...write }: Outgoing & { credentials: Credentials; signal: AbortSignal | undefined },
): Promise<SendResult> {
  const sendUnder = (state: KeyState): Promise<SendResult> => {
    if (!state.ok) {
      const outcome = session.classifier.outcomeOf(keyless(state.message), write.expectation);
      return Promise.resolve({ outcome, latencyMs: 0 });
    }
    const headers = [...state.headers.forWrite(write.idempotencyKey, bodyKindOf(write)), ...(write.further ?? [])];
    return sendWith(session, { ...write, headers, signal });
  };
  const current = credentials.current();
  return current instanceof Promise ? current.then(sendUnder) : sendUnder(current);
}

/** Sends a write once with the given headers and classifies the answer. Never rejects. */
export async function sendWith(
  session: Session,
  write: Omit<Outgoing, 'idempotencyKey'> & { headers: string[]; signal: AbortSignal | undefined },
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
