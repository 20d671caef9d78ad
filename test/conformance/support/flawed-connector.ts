import { createReadStream } from 'node:fs';
import { appendFile, open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  type Connector,
  defineConnector,
  type JsonValue,
  type Page,
  type PullRequest,
  type SourceRow,
  secret,
  sourceFault,
  z,
} from '../../../src/sdk/index.ts';
import { type ConnectorFixtures, fileDamages } from '../../../src/sdk/testing/index.ts';

/** The faults that the connector can have. */
export type Flaw =
  | 'bad id'
  | 'no description'
  | 'takes unknown options'
  | 'check fails'
  | 'missing file is empty'
  | 'loses the last row'
  | 'row without place'
  | 'places twice'
  | 'field that JSON cannot hold'
  | 'other rows again'
  | 'large pages'
  | 'progress goes back'
  | 'loses rows after a stop'
  | 'repeats at a cursor'
  | 'forgets the end'
  | 'repeats other rows'
  | 'loses a row at a cursor'
  | 'names no record'
  | 'names the wrong record'
  | 'keeps a record'
  | 'absurd cursor is the end'
  | 'ignores changes'
  | 'reads everything first'
  | 'reads ahead'
  | 'cannot be stopped'
  | 'leaves a file open'
  | 'leaves a timer'
  | 'first page only'
  | 'shows its token'
  | 'logs the secret'
  | 'error has the secret'
  | 'cursor has the secret'
  | 'warning has the secret encoded'
  | 'other values than the source has'
  | 'rounds numbers'
  | 'shares fields'
  | 'one read per source'
  | 'check reads everything'
  | 'check names other columns'
  | 'other columns than rows'
  | 'goes on without columns'
  | 'takes away what is held'
  | 'facts stay the same'
  | 'facts always differ'
  | 'a look of nothing breaks'
  | 'loses changes during a read'
  | 'cuts characters'
  | 'breaks at damage';

const SECRET = 'a-planted-secret-of-the-kit';
const PAGE_ROWS = 500;
const Stream = z.strictObject({
  path: z.string().min(1).describe('The file.'),
  removes: z
    .boolean()
    .optional()
    .describe('Whether a line that begins with `-` removes the record of an earlier line.'),
  grows: z.boolean().optional().describe('Whether lines may be added while the file is read.'),
});

interface Reading {
  path: string;
  flaw: Flaw | null;
  reads: number;
  request: PullRequest<z.infer<typeof Stream>>;
  onRow: () => void;
}

/** A connector that reads one record from each line of a file, with at most one fault. */
export function flawedConnector(flaw: Flaw | null, onRow: () => void = () => {}): Connector {
  let reads = 0;
  const options = z.strictObject({
    token: (flaw === 'shows its token' ? z.string() : secret()).describe('The password of the file.'),
    limit: flaw === 'no description' ? z.int().optional() : z.int().optional().describe('Has no effect.'),
  });
  const connector = defineConnector({
    id: flaw === 'bad id' ? 'Lines!' : 'lines',
    title: 'Lines of a file',
    fixedColumns: true,
    reads: 'changes-and-snapshot',
    options: flaw === 'takes unknown options' ? z.looseObject(options.shape) : options,
    streamOptions: Stream,
    async open({ token }, host) {
      if (flaw === 'leaves a timer') setInterval(() => {}, 1e6);
      let pulls = 0;
      const read = new Set<string>();
      const fail = flaw === 'error has the secret' ? ` with ${token}` : '';
      return {
        async check({ options: stream, signal }) {
          if (flaw !== 'cannot be stopped') signal.throwIfAborted();
          if (flaw === 'logs the secret') host.log.debug({ token }, 'The file is opened.');
          const bytes = await sizeOf(host.resolvePath(stream.path), stream.path, fail);
          if (flaw === 'check fails') throw new Error('The check is broken.');
          if (flaw === 'check reads everything') for await (const _ of linesOf(host.resolvePath(stream.path))) onRow();
          return { found: `${bytes} bytes`, columns: [flaw === 'check names other columns' ? 'LINE' : 'line'] };
        },
        async look({ options: stream }) {
          const found = await stat(host.resolvePath(stream.path)).catch(() => null);
          if (flaw === 'a look of nothing breaks' && found === null) throw new TypeError('There is no size.');
          const facts = found === null ? null : `${found.size} ${found.mtimeMs}`;
          return { facts: lookedAt(facts, flaw), againMs: 1_000 };
        },
        async *pull(request) {
          const path = host.resolvePath(request.options.path);
          reads += 1;
          read.add(path);
          if (flaw === 'one read per source' && pulls++ > 0) return;
          if (flaw === 'missing file is empty' && (await stat(path).catch(() => null)) === null) return;
          await sizeOf(path, request.options.path, fail);
          if (flaw === 'leaves a file open') leaked.push(await open(path));
          nameColumns(request, flaw);
          for await (const page of readLines({ path, flaw, reads, request, onRow })) {
            if (flaw === 'cursor has the secret') page.cursor = { at: page.cursor ?? null, token };
            const encoded = Buffer.from(`user:${token}`).toString('base64');
            if (flaw === 'warning has the secret encoded') page.warnings = [`Basic ${encoded} ends soon.`];
            yield page;
          }
        },
        async acknowledge(streams) {
          const goes = flaw === 'takes away what is held' || (streams.length > 0 && flaw === null);
          if (goes) for (const path of read) await writeFile(path, '');
        },
        async close() {},
      };
    },
  });
  return connector as unknown as Connector;
}

/** Keeps the handles from being closed by the garbage collection. */
const leaked: unknown[] = [];

function nameColumns({ onColumns }: Reading['request'], flaw: Flaw | null): void {
  const names = flaw === 'other columns than rows' ? ['line', 'number'] : ['line'];
  try {
    onColumns?.({ names, where: 'the file' });
  } catch (error) {
    if (flaw !== 'goes on without columns') throw error;
  }
}

let looks = 0;

function lookedAt(facts: string | null, flaw: Flaw | null): string | null {
  looks += 1;
  if (flaw === 'facts always differ') return `${facts} ${looks}`;
  return facts !== null && flaw === 'facts stay the same' ? 'there' : facts;
}

async function sizeOf(path: string, name: string, fail: string): Promise<number> {
  const found = await stat(path).catch(() => null);
  if (found !== null) return found.size;
  throw sourceFault(`The file ${name} does not exist${fail}.`, { suggestion: 'Write it.' });
}

async function* readLines(reading: Reading): AsyncGenerator<Page> {
  const { path, flaw, request } = reading;
  const { signal } = request;
  if (flaw !== 'cannot be stopped') signal.throwIfAborted();
  const before = await stat(path);
  if (flaw === 'breaks at damage' && before.size === 10) throw new SyntaxError('Unexpected end of input');
  const start = startOf(request.cursor, flaw);
  const all = flaw === 'reads everything first' ? (await readFile(path, 'utf8')).split('\n') : null;
  const kept = all?.map((line, index) => rowOf(line, index + 1, reading)) ?? [];
  const removed = await removedBy(request, path, flaw);
  let rows: SourceRow[] = [];
  let at = 0;
  const isBlind = flaw === 'loses changes during a read' && request.options.grows === true;
  const end = isBlind ? await countLines(path) : Number.POSITIVE_INFINITY;
  const page = (): Page => {
    const given = rows;
    rows = [];
    const done = flaw === 'progress goes back' ? -at : at;
    return {
      rows: given,
      cursor: flaw === 'forgets the end' ? 0 : at,
      progress: { done, total: flaw === 'progress goes back' ? 0 : at },
    };
  };
  for await (const line of all ?? (flaw === 'cuts characters' ? cutLinesOf(path) : linesOf(path))) {
    if (line === '') continue;
    if (at >= end) break;
    at += 1;
    if (at <= start) continue;
    reading.onRow();
    if (flaw === 'repeats other rows' && start > 0 && at === start + 2) continue;
    if (flaw === 'loses rows after a stop' && reading.reads > 1 && at < 10) continue;
    const row = kept[at - 1] ?? rowOf(line, at, reading);
    if (!removed.has(line)) rows.push(row);
    if (rows.length < (flaw === 'large pages' ? 4 * PAGE_ROWS : PAGE_ROWS)) continue;
    if (flaw === 'reads ahead') for (let ahead = 0; ahead < 10 * PAGE_ROWS; ahead++) reading.onRow();
    if (flaw !== 'cannot be stopped') signal.throwIfAborted();
    yield page();
    if (flaw === 'first page only') return;
  }
  const after = await stat(path).catch(() => before);
  if (isBlind) at = await countLines(path);
  const mayChange = flaw === 'ignores changes' || request.options.grows === true;
  if (!mayChange && (after.size !== before.size || after.mtimeMs !== before.mtimeMs)) {
    throw sourceFault('The file was changed while it was read.', { suggestion: 'Pull again.' });
  }
  if (flaw === 'loses the last row') rows.pop();
  yield page();
}

function startOf(cursor: JsonValue, flaw: Flaw | null): number {
  if (cursor === null) return 0;
  if (typeof cursor === 'number' && cursor >= 0) {
    if (flaw === 'repeats other rows') return Math.max(0, cursor - 2);
    if (flaw === 'loses a row at a cursor') return cursor + 1;
    return flaw === 'repeats at a cursor' ? cursor - 1 : cursor;
  }
  if (flaw === 'absurd cursor is the end') return Number.POSITIVE_INFINITY;
  throw sourceFault('The stored position is not one of this connector.', { suggestion: 'Give the source another id.' });
}

function rowOf(line: string, at: number, { path, flaw, reads }: Reading): SourceRow {
  const place = flaw === 'row without place' ? {} : { file: path, line: flaw === 'places twice' ? 1 : at };
  if (line.startsWith('-')) {
    const gone = flaw === 'names the wrong record' ? 'another' : line.slice(1);
    return { fields: flaw === 'names no record' ? {} : { line: gone }, place, isGone: true };
  }
  const shown = flaw === 'other values than the source has' ? line.toUpperCase() : line;
  const fields: Record<string, JsonValue> = flaw === 'shares fields' ? SHARED : {};
  fields['line'] = flaw === 'other rows again' ? `${line} ${reads}` : shown;
  if (flaw === 'field that JSON cannot hold') fields['number'] = Number.NaN;
  if (flaw === 'rounds numbers') fields['number'] = [{ id: Number('12345678901234567890') }];
  return { fields, place };
}

const SHARED: Record<string, JsonValue> = {};

async function countLines(path: string): Promise<number> {
  return (await readFile(path, 'utf8')).split('\n').length - 1;
}

/** The lines that a snapshot leaves out: those that remove a record, and those of the removed records. */
async function removedBy({ mode, options }: Reading['request'], path: string, flaw: Flaw | null): Promise<Set<string>> {
  const lines = mode === 'snapshot' && options.removes === true ? (await readFile(path, 'utf8')).split('\n') : [];
  const removing = lines.filter((line) => line.startsWith('-'));
  return new Set([...removing, ...(flaw === 'keeps a record' ? [] : removing.map((line) => line.slice(1)))]);
}

/** The lines of a file whose pieces are decoded one by one, so that a character can be cut in two. */
async function* cutLinesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of createReadStream(path)) {
    const lines = (rest + (piece as Buffer).toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}

function linesOf(path: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
}

/** The fixtures of the conformance kit for this connector. `given` counts the rows that the connector has taken. */
export function fixturesFor(folder: string, given: () => number, reset: () => void): ConnectorFixtures {
  const options = { token: SECRET };
  return {
    folder,
    samples: [{ about: 'three lines', options, stream: { path: 'lines.txt' }, rows: 3, first: { line: 'one' } }],
    refused: [{ options, stream: { path: '' } }],
    unreachable: { options, stream: { path: 'none.txt' }, names: 'none.txt' },
    secrets: [SECRET],
    async shrinking(at) {
      const path = join(at, 'shrinking.txt');
      await writeFile(path, 'one\ntwo\nthree\n');
      return {
        options,
        stream: { path, removes: true },
        key: ['line'],
        async remove() {
          await appendFile(path, '-two\n');
          return [{ line: 'two' }];
        },
      };
    },
    async changing(rows, at) {
      const path = join(at, 'changing.txt');
      await writeFile(path, linesTo(rows));
      let added = 0;
      return {
        options,
        stream: { path, grows: true },
        async change() {
          added += 1;
          await appendFile(path, `added ${added}\n`);
          return [{ line: `added ${added}` }];
        },
      };
    },
    async large(rows, at) {
      reset();
      const path = join(at, 'large.txt');
      await writeFile(path, linesTo(rows));
      return {
        options,
        stream: { path },
        given,
        damages: fileDamages(path).filter(({ about }) => !about.includes('renamed')),
      };
    },
  };
}

function linesTo(rows: number): string {
  return Array.from({ length: rows }, (_, index) => `line ${index} ${'ü'.repeat(40)}\n`).join('');
}
