// One trace for each delivery: from the page of its record to the answer of the platform.
//
//   sync product            the whole, ended with the delivery
//     pull                  the page was read from the source
//     map                   the page waited in the `map` queue, and was mapped
//     stage                 the page was stored, which made the delivery due
//     deliver               one attempt: the request and its answer
//     settle                the outcome was stored
//
// Only this file loads the packages of OpenTelemetry, and it is only loaded if the config asks for traces. Spans are
// made when their times are known, so no part of the sync waits for them. The queue of spans is bounded; spans that do
// not fit are dropped.

import { createHash } from 'node:crypto';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type IdGenerator, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace';
import type { OnPageStored, ProgressEvent } from '../../domain/ports/progress.ts';
import type { Logger } from '../../lib/logging/logging.ts';

export interface TracesOptions {
  endpoint: string;
  headers: Record<string, string>;
  /** From 0 to 1. */
  sampleRatio: number;
  version: string;
  /** The id of the ledger. */
  ledger: string;
  /** The revision of an item whose delivery is open; null if there is none. */
  revisionOf: (kind: string, key: string) => number | null;
  /** When a run began, in milliseconds since the epoch; null for an unknown one. */
  runBeganAt: (run: number) => number | null;
  now: () => number;
  log: Logger;
}

/** States after which a delivery is not sent again automatically. */
const ENDED = new Set(['delivered', 'rejected', 'parked', 'superseded', 'blocked']);
const QUEUE_SPANS_MAX = 4096;
const EXPORT_MS = 10_000;
const CLOSE_MS = 1000;
/** The shortest time between two logged failures. */
const LOG_EVERY_MS = 600_000;
/** The most traces whose beginning is remembered. */
const STARTS_MAX = 10_000;

export function createTraces(options: TracesOptions) {
  const { sampleRatio, ledger, revisionOf, runBeganAt, now, log } = options;
  const sdk = createSdk(options);
  const { tracer } = sdk;
  /** When the page of a traced delivery began to be read, by trace id. The oldest entries are dropped. */
  const startedAt = new Map<string, number>();
  /** When the last page of a run was read. */
  const lastReadAt = new Map<number, number>();
  let loggedAt = Number.NEGATIVE_INFINITY;

  type Ids = ReturnType<typeof traceOf>;
  type Attributes = Record<string, string | number>;

  function span(ids: Ids, name: string, from: number, to: number, attributes: Attributes): void {
    const spanContext = { traceId: ids.traceId, spanId: ids.rootId, traceFlags: 1, isRemote: true };
    const parent = trace.setSpanContext(ROOT_CONTEXT, spanContext);
    tracer.startSpan(name, { startTime: from, attributes }, parent).end(Math.max(from, to));
  }

  function rememberStart(traceId: string, at: number): void {
    startedAt.set(traceId, at);
    if (startedAt.size <= STARTS_MAX) return;
    const [oldest] = startedAt.keys();
    if (oldest !== undefined) startedAt.delete(oldest);
  }

  /** An error in the packages of OpenTelemetry must never affect the sync. */
  function safely(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (now() - loggedAt < LOG_EVERY_MS) return;
      loggedAt = now();
      log.warn({ err: error }, 'A trace could not be made.');
    }
  }

  function pageStored(...[times, items]: Parameters<OnPageStored>): void {
    const { source, stream, run, page, readAt, mapBeganAt, stageBeganAt, storedAt } = times;
    const pullBeganAt = lastReadAt.get(run) ?? runBeganAt(run) ?? readAt;
    lastReadAt.set(run, readAt);
    for (const { kind, key } of items) {
      if (!isTraced(kind, key, sampleRatio)) continue;
      const revision = revisionOf(kind, key);
      if (revision === null) continue;
      const ids = traceOf({ ledger, kind, key, revision });
      rememberStart(ids.traceId, pullBeganAt);
      const attributes = { source, stream, run, page };
      span(ids, 'pull', pullBeganAt, readAt, attributes);
      span(ids, 'map', readAt, stageBeganAt, { ...attributes, queued_ms: mapBeganAt - readAt });
      span(ids, 'stage', stageBeganAt, storedAt, { ...attributes, kind, key, revision });
    }
  }

  function settled({ kind, key, revision, times, ...event }: ProgressEvent & { type: 'settled' }): void {
    if (!isTraced(kind, key, sampleRatio)) return;
    const ids = traceOf({ ledger, kind, key, revision });
    const { operation, state, status, reason } = event;
    const attributes = {
      operation,
      state,
      ...(status === null ? {} : { 'http.response.status_code': status }),
      ...(reason === null ? {} : { reason: reason.code }),
    };
    const end = now();
    if (times !== null) {
      span(ids, 'deliver', times.sentAt, times.answeredAt, attributes);
      span(ids, 'settle', times.answeredAt, end, { state });
    }
    if (!ENDED.has(state)) return;
    const begin = startedAt.get(ids.traceId) ?? times?.sentAt ?? end;
    startedAt.delete(ids.traceId);
    sdk.root(ids, () => {
      const whole = tracer.startSpan(
        `sync ${kind}`,
        { startTime: begin, kind: SpanKind.PRODUCER, attributes: { kind, key, revision, ...attributes } },
        ROOT_CONTEXT,
      );
      if (state !== 'delivered') whole.setStatus({ code: SpanStatusCode.ERROR, message: reason?.code ?? state });
      whole.end(Math.max(begin, end));
    });
  }

  return {
    pageStored: (...page: Parameters<OnPageStored>) => safely(() => pageStored(...page)),
    observe(event: ProgressEvent) {
      if (event.type === 'settled') safely(() => settled(event));
      else if (event.type === 'run_ended') lastReadAt.clear();
    },
    /** Sends the remaining spans, for a second at most. */
    close: () => sdk.close(),
  };
}

export type Traces = ReturnType<typeof createTraces>;

function createSdk({ endpoint, headers, version, now, log }: TracesOptions) {
  const random = new RandomIdGenerator();
  /** The ids of the next span, if they are given. */
  let given: { traceId: string; rootId: string } | null = null;
  const idGenerator: IdGenerator = {
    generateTraceId: () => given?.traceId ?? random.generateTraceId(),
    generateSpanId: () => given?.rootId ?? random.generateSpanId(),
  };
  const exporter = new OTLPTraceExporter({ url: endpoint, headers, timeoutMillis: EXPORT_MS });
  let loggedAt = Number.NEGATIVE_INFINITY;
  const watched = {
    export(...[spans, done]: Parameters<OTLPTraceExporter['export']>) {
      exporter.export(spans, (result) => {
        if (result.code !== 0 && now() - loggedAt >= LOG_EVERY_MS) {
          loggedAt = now();
          log.warn(
            { error: result.error?.message ?? 'unknown' },
            'Traces could not be sent and were dropped. The sync continues; this warning is logged every ten minutes at most.',
          );
        }
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'dpp-sync', 'service.version': version }),
    idGenerator,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: watched,
        maxQueueSize: QUEUE_SPANS_MAX,
        maxExportBatchSize: 512,
        scheduledDelayMillis: 1000,
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  });
  return {
    tracer: provider.getTracer('dpp-sync', version),
    /** Makes one span with the ids of a root span. */
    root(ids: { traceId: string; rootId: string }, make: () => void): void {
      given = ids;
      try {
        make();
      } finally {
        given = null;
      }
    },
    async close(): Promise<void> {
      const timer = new AbortController();
      const late = new Promise<void>((resolve) => {
        const timeout = setTimeout(resolve, CLOSE_MS);
        timer.signal.addEventListener('abort', () => clearTimeout(timeout));
      });
      // A collector that cannot be reached must not prevent the daemon from stopping.
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      timer.abort();
    },
  };
}

/** Names one delivery: an item and its revision in one ledger. */
export interface DeliveryName {
  ledger: string;
  kind: string;
  key: string;
  revision: number;
}

/**
 * The ids of the trace of a delivery. They are computed from the name of the delivery, so they are the same in every
 * process and after every restart. Neither the queue nor the ledger has to store them.
 */
export function traceOf({ ledger, kind, key, revision }: DeliveryName): { traceId: string; rootId: string } {
  const hash = createHash('sha256')
    .update(JSON.stringify([ledger, kind, key, revision]))
    .digest('hex');
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48) };
}

/**
 * True if an item is traced. Either all its revisions are traced or none, and the answer is the same in every process.
 * @param ratio from 0 to 1
 */
export function isTraced(kind: string, key: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  const hash = createHash('sha256')
    .update(JSON.stringify([kind, key]))
    .digest();
  return hash.readUInt32BE(0) / 2 ** 32 < ratio;
}
