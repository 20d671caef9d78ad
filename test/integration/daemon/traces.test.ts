import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { isTraced } from '../../../src/observe/traces/create-traces.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { listenLocally } from '../../support/servers/local-server.ts';
import { describeRedis, startRedis } from '../../support/servers/redis.ts';
import { PRODUCTS, startDaemon } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };
const TOKEN = 'collector-token-0123456789';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

/** A collector that takes OTLP over HTTP with JSON. */
interface Collector {
  url: string;
  spans: Span[];
  /** The texts of all requests. */
  texts: string[];
  tokens: Set<string | undefined>;
  close(): Promise<unknown>;
}

async function collect(): Promise<Collector> {
  const collector: Collector = {
    url: '',
    spans: [],
    texts: [],
    tokens: new Set(),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      collector.spans.push(...resourceSpans.flatMap((one) => one.scopeSpans.flatMap(({ spans }) => spans)));
      collector.texts.push(body);
      collector.tokens.add(request.headers['x-token']?.toString());
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  collector.url = `${await listenLocally(server)}/v1/traces`;
  return collector;
}

function attributesOf({ attributes }: Span): Record<string, string | number | undefined> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

let collector: Collector;
let world: World | null;
let stop: (() => Promise<unknown>)[];
beforeEach(async () => {
  collector = await collect();
  stop = [];
  world = null;
});
afterEach(async () => {
  for (const end of stop.reverse()) await end();
  await world?.remove();
  await collector.close();
});

async function start(options: { queue?: string; traces?: object; ratio?: number } = {}) {
  world ??= await createWorld({
    config: {
      sources: [PRODUCTS.source],
      observe: {
        traces: options.traces ?? {
          endpoint: collector.url,
          headers: { 'X-Token': TOKEN },
          sampleRatio: options.ratio ?? 1,
        },
      },
    },
    ...(options.queue === undefined ? {} : { queue: options.queue }),
    files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
  });
  const started = await startDaemon(world);
  stop.push(() => started.daemon.stop());
  return { ...started, world };
}
const delivered = async ({ runtime }: Daemon) => (await runtime.reads.itemCounts()).product.delivered ?? 0;

/** The spans of the item with this key, in the order of their times. */
function traceOf(key: string): Span[] {
  const root = collector.spans.find((span) => span.name === 'sync product' && attributesOf(span)['key'] === key);
  return collector.spans
    .filter(({ traceId }) => traceId === root?.traceId)
    .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)));
}

async function oneTraceForEachDelivery(queue?: string): Promise<void> {
  const { daemon } = await start(queue === undefined ? {} : { queue });
  await daemon.startRun('erp', 'schedule');
  await expect.poll(() => delivered(daemon), SOON).toBe(2);
  await expect.poll(() => [traceOf('A-1').length, traceOf('A-2').length], SOON).toEqual([6, 6]);
  const ids = new Set<string>();
  for (const key of ['A-1', 'A-2']) {
    const spans = traceOf(key);
    const root = spans.find(({ name }) => name === 'sync product');
    ids.add(root?.traceId ?? '');
    const parts = spans.filter((span) => span !== root);
    expect(parts.map(({ name }) => name)).toEqual(['pull', 'map', 'stage', 'deliver', 'settle']);
    expect(new Set(parts.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([root?.spanId]));
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(6);
    expect(root?.parentSpanId ?? '').toBe('');
    expect(attributesOf(root as Span)).toMatchObject({ kind: 'product', key, revision: 1, state: 'delivered' });
    for (const name of ['pull', 'map', 'stage']) {
      const span = parts.find((one) => one.name === name) as Span;
      expect(attributesOf(span)).toMatchObject({ source: 'erp', stream: 'default', run: 1, page: 1 });
    }
    // Each part ends before the next one begins, and the whole spans them.
    for (const [index, span] of parts.entries()) {
      const before = parts[index - 1];
      if (before) expect(BigInt(before.endTimeUnixNano) <= BigInt(span.startTimeUnixNano), span.name).toBe(true);
      expect(BigInt(span.startTimeUnixNano) >= BigInt(root?.startTimeUnixNano ?? 0)).toBe(true);
      expect(BigInt(span.endTimeUnixNano) <= BigInt(root?.endTimeUnixNano ?? 0)).toBe(true);
    }
  }
  expect(ids.size).toBe(2);
  expect(collector.tokens).toEqual(new Set([TOKEN]));
  // I7: neither the secret of the header nor the key of the API is in a trace.
  expect(collector.texts.join()).not.toMatch(/collector-token|dpp_test/);
}

describe('the traces of deliveries', () => {
  it('each delivery has one trace, from the source to the settled answer, with the embedded queue', () =>
    oneTraceForEachDelivery());

  it('a trace continues in the next process, with the same ids', async () => {
    const first = await start();
    first.world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 401 });
    await first.daemon.startRun('erp', 'schedule');
    await expect.poll(() => collector.spans.filter(({ name }) => name === 'stage').length, SOON).toBe(2);
    await stop.pop()?.();
    expect(collector.spans.some(({ name }) => name === 'sync product')).toBe(false);
    first.world.sandbox.faults.clear();
    const second = await start();
    await expect.poll(() => delivered(second.daemon), SOON).toBe(2);
    await expect.poll(() => traceOf('A-1').map(({ name }) => name), SOON).toContain('settle');
    const names = traceOf('A-1').map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(['pull', 'map', 'stage']);
    expect(names).toContain('sync product');
  });

  it('traces never hurt the sync: not where the collector is away, and not at the end', async () => {
    const { daemon, log } = await start({ traces: { endpoint: 'http://127.0.0.1:9/v1/traces', sampleRatio: 1 } });
    await daemon.startRun('erp', 'schedule');
    await expect.poll(() => delivered(daemon), SOON).toBe(2);
    await stop.pop()?.();
    expect(log.lines.filter(({ message }) => message.startsWith('Traces could not be sent')).length).toBeLessThan(2);
  });

  it('a config without traces loads no package of OpenTelemetry', () => {
    const sources = fileURLToPath(new URL('../../../src', import.meta.url));
    const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const importing = (text: RegExp) => files.filter((file) => text.test(readFileSync(join(sources, file), 'utf8')));
    expect(importing(/'@opentelemetry\//)).toEqual(['observe/traces/create-traces.ts']);
    // Other files import that file only for its types, or when the config asks for traces.
    expect(importing(/^import (?!type)[^;]*\/create-traces\.ts'/m)).toEqual([]);
  });

  it('traces are made of the same share of the items, whichever process asks', async () => {
    const keys = Array.from({ length: 2000 }, (_, index) => `A-${index}`);
    const traced = keys.filter((key) => isTraced('product', key, 0.1));
    expect(traced.length).toBeGreaterThan(120);
    expect(traced.length).toBeLessThan(280);
    expect(keys.filter((key) => isTraced('product', key, 0))).toEqual([]);
    expect(traced.filter((key) => !isTraced('product', key, 0.2))).toEqual([]);
  });
});

describeRedis('the traces of deliveries over Redis', () => {
  it('each changed record has one trace, from the source to the settled answer', async () => {
    const redis = await startRedis();
    stop.unshift(() => redis.stop());
    await oneTraceForEachDelivery(redis.url);
  });
});
