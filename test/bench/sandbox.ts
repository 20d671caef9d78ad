// Compares the sandbox with a server that only parses and answers JSON, on the same machine in the same run:
// `npm run bench:sandbox`. Rounds alternate between the two servers, so that other work on the machine affects both.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

const KEY = 'dpp_a-key-to-measure-with';
const CONNECTIONS = 16;
const ROUND_MS = 1500;
const ROUNDS = 7;
/** The first rounds, which are not counted. */
const WARM_UP_ROUNDS = 2;
const GOAL = 0.5;

/** Makes one request of the load, as the text that is sent. `n` makes each request different. */
type Load = (n: number) => string;

interface Measured {
  requestsPerSecond: number;
  cpuMicroseconds: number;
}

const LOADS: Record<string, Load> = {
  'create a product': (n) =>
    post(
      '/api/products/',
      { sku: `SKU-${n}`, name: 'Bucket, steel, 10 l', status: 'DRAFT', country_of_origin: 'DE' },
      n,
    ),
  'create a material': (n) =>
    post('/api/materials/', { code: `M-${n}`, name: 'Steel', origin_country: 'SE', recycled_mass_fraction: '0.25' }, n),
  'add a BOM item': (n) =>
    post('/api/bom-items/', { product: 1, material: 1, quantity: '2.5', unit: 'kg', position: String(n) }, n),
  'list one product': () => get('/api/products/?page_size=1'),
};

function post(path: string, body: object, n: number): string {
  const text = JSON.stringify(body);
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `X-API-Key: ${KEY}`,
    'Accept: application/json',
    'Content-Type: application/json',
    `Idempotency-Key: key-${n}-${path.length}`,
    `Content-Length: ${Buffer.byteLength(text)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${text}`;
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\nAccept: application/json\r\n\r\n`;
}

async function start(script: string, ...args: string[]): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(join(import.meta.dirname, 'support', script), args, { silent: true });
  child.stderr?.pipe(process.stderr);
  if (!child.stdout) throw new Error('the child has no output');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, port: Number(new URL(line.toString().trim()).port) };
}

async function cpuOf(child: ChildProcess): Promise<number> {
  child.send('cpu');
  const [usage] = (await once(child, 'message')) as [{ user: number; system: number }];
  return usage.user + usage.system;
}

/**
 * Sends requests over kept connections, one after another on each, and counts the answers. It reads as little of an answer
 * as possible, so that the server is the slower side. It never sleeps. Otherwise each answer of a slow server would have to
 * wake it up, and a fast server would not have this cost.
 *
 * @throws Error for an answer that is no success
 */
function drive(port: number, load: Load, from: { n: number }, ms: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const end = performance.now() + ms;
    let answers = 0;
    let open = CONNECTIONS;
    const stayAwake = (): void => {
      if (open > 0) setImmediate(stayAwake);
    };
    stayAwake();
    const serve = (socket: Socket): void => {
      let pending = '';
      const next = (): void => {
        if (performance.now() < end) socket.write(load((from.n += 1)));
        else socket.end();
      };
      socket.setNoDelay(true);
      socket.on('connect', next);
      socket.on('error', reject);
      socket.on('close', () => {
        open -= 1;
        if (open === 0) resolve(answers);
      });
      socket.on('data', (chunk: Buffer) => {
        pending += chunk.toString('latin1');
        const head = pending.indexOf('\r\n\r\n');
        if (head < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(pending.slice(0, head))?.[1]);
        if (pending.length < head + 4 + length) return;
        if (!/^HTTP\/1\.1 20[01] /.test(pending)) reject(new Error(pending.slice(0, 400)));
        pending = '';
        answers += 1;
        next();
      });
    };
    for (let index = 0; index < CONNECTIONS; index += 1) serve(connect(port, '127.0.0.1'));
  });
}

async function measure(
  server: { child: ChildProcess; port: number },
  load: Load,
  from: { n: number },
): Promise<Measured> {
  const before = await cpuOf(server.child);
  const begun = performance.now();
  const answers = await drive(server.port, load, from, ROUND_MS);
  const seconds = (performance.now() - begun) / 1000;
  return { requestsPerSecond: answers / seconds, cpuMicroseconds: ((await cpuOf(server.child)) - before) / answers };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Makes the product and the material to which the BOM items refer. */
async function prepare(port: number): Promise<void> {
  const headers = { 'x-api-key': KEY, 'content-type': 'application/json' };
  const first = { products: { sku: 'FIRST', name: 'Bucket' }, materials: { code: 'FIRST', name: 'Steel' } };
  for (const [path, body] of Object.entries(first)) {
    const url = `http://127.0.0.1:${port}/api/${path}/`;
    const { status } = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    if (status !== 201) throw new Error(`POST ${url} was answered with ${status}`);
  }
}

/**
 * Returns the ratio of requests per second. It starts new servers for this load. Otherwise the items of earlier loads in the
 * memory of the sandbox would make later loads slower.
 */
async function compare(name: string, load: Load): Promise<number> {
  const bare = await start('bare-server-process.ts');
  const sandbox = await start('bench-sandbox-process.ts', KEY);
  const numbers = { n: 0 };
  const rounds: { bare: Measured; sandbox: Measured }[] = [];
  try {
    await prepare(sandbox.port);
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
      const pair = { bare: await measure(bare, load, numbers), sandbox: await measure(sandbox, load, numbers) };
      if (round >= 0) rounds.push(pair);
    }
  } finally {
    bare.child.kill();
    sandbox.child.kill();
  }
  const of = (pick: (round: { bare: Measured; sandbox: Measured }) => number) => median(rounds.map(pick));
  const ratio = of((round) => round.sandbox.requestsPerSecond / round.bare.requestsPerSecond);
  const cpuRatio = of((round) => round.bare.cpuMicroseconds / round.sandbox.cpuMicroseconds);
  const rate = (which: 'bare' | 'sandbox') => Math.round(of((round) => round[which].requestsPerSecond));
  const cpu = (which: 'bare' | 'sandbox') => of((round) => round[which].cpuMicroseconds).toFixed(1);
  say(
    `${name.padEnd(18)} bare ${rate('bare')}/s (${cpu('bare')} µs CPU)   sandbox ${rate('sandbox')}/s (${cpu('sandbox')} µs CPU)   ` +
      `ratio ${ratio.toFixed(2)}, by CPU ${cpuRatio.toFixed(2)}`,
  );
  return ratio;
}

let worst = Number.POSITIVE_INFINITY;
for (const [name, load] of Object.entries(LOADS)) worst = Math.min(worst, await compare(name, load));
say(`The lowest ratio is ${worst.toFixed(2)}; the goal is ${GOAL}.`);
process.exitCode = worst >= GOAL ? 0 : 1;
