import { join } from 'node:path';
import { openSource, type RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { fault } from '../../domain/faults.ts';
import type { SourceStream } from '../../domain/ports/source.ts';
import { makeFolderSync } from '../../lib/files.ts';
import type { JsonValue } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { assertSources } from '../../operations/named.ts';
import type { Exchange, Recording } from '../../sdk/rest/exchange.ts';
import type { CommandContext } from '../context.ts';
import { writeWholeFile } from '../files.ts';
import { printable } from '../text/style.ts';
import { createReplacements, type Replaced, redactExchanges } from './redact.ts';

export interface RecordOptions {
  stream?: string;
  out: string;
  pages: number;
  redact: readonly string[];
}

/** Records the requests and answers of a REST source into a file for each stream. Nothing else is written, and no position moves. */
export async function recordSource(id: string, options: RecordOptions, context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig('sources');
  const { source, names } = selected(id, options.stream, config);
  const isFile = options.out.endsWith('.json');
  if (isFile && names.length > 1) {
    throw fault('usage', `The source "${id}" has ${names.length} streams, and ${options.out} is one file.`, {
      suggestion: `Name a folder with --out, or one stream with --stream: ${names.join(', ')}.`,
    });
  }
  let onExchange: (exchange: Exchange) => void = () => {};
  const reader = await openSource(source, config, await context.log(), (exchange) => onExchange(exchange));
  const replacements = createReplacements();
  const tools = { replacements, scrub: (text: string) => config.scrubWhole(text), members: options.redact };
  const files: { stream: string; file: string; snapshot: number; changes: number; whole: boolean }[] = [];
  const replaced: Replaced = new Map();
  try {
    for (const stream of reader.streams.filter(({ name }) => names.includes(name))) {
      const recorder = {
        listen: (to: typeof onExchange) => (onExchange = to),
        pagesMax: options.pages,
        stream,
        source: id,
      };
      const { exchanges, isWhole, changesFrom } = await recordStream(recorder, context.interruption());
      const all = redactExchanges(exchanges, tools, replaced);
      const recording: Recording = {
        stream: stream.name,
        snapshot: all.slice(0, changesFrom),
        changes: all.slice(changesFrom),
      };
      if (!isFile) makeFolderSync(options.out);
      const to = isFile ? options.out : join(options.out, `${stream.name}.json`);
      const text = `${JSON.stringify(recording, null, 2)}\n`;
      const { file } = await writeWholeFile(to, 0o600, (handle) => handle.writeFile(text));
      files.push({
        stream: stream.name,
        file,
        snapshot: changesFrom,
        changes: all.length - changesFrom,
        whole: isWhole,
      });
    }
  } finally {
    await reader.close();
  }
  const said = [...replaced].map(([what, values]) => ({ what, values: values.size }));
  if (output.json) output.document({ ok: true, source: id, files, replaced: said });
  for (const { stream, file, snapshot, changes, whole } of files) {
    output.print(`${id}/${stream}: ${counted(snapshot + changes, 'request')} in ${printable(file)}.`);
    if (!whole) output.print(`  Only the first ${counted(options.pages, 'page')} of a read: --pages records more.`);
  }
  const list = said.map(({ what, values }) => `${printable(what)} (${counted(values, 'value')})`).join(', ');
  output.print(
    `Replaced: the address of the server, the secrets of the config${list === '' ? '' : `, ${list}`}.`,
    'Read the files before you give them to anybody, and name members that are missing here with --redact.',
  );
  return 0;
}

/** @throws Fault `usage` for a source or a stream that the config does not have */
function selected(id: string, stream: string | undefined, config: RuntimeConfig) {
  assertSources(config, [id]);
  const source = config.sources.find((one) => one.id === id);
  const names = source?.streams.map(({ name }) => name) ?? [];
  if (source !== undefined && (stream === undefined || names.includes(stream))) {
    return { source, names: stream === undefined ? names : [stream] };
  }
  const likely = suggest(stream ?? '', names);
  throw fault('usage', `The source "${id}" has no stream "${stream}".`, {
    suggestion: likely === undefined ? `Name one of its streams: ${names.join(', ')}.` : `Did you mean ${likely}?`,
  });
}

interface Recorder {
  listen: (to: (exchange: Exchange) => void) => void;
  pagesMax: number;
  stream: SourceStream;
  source: string;
}

/** Reads a snapshot, and the changes since then if the snapshot was read to its end. */
async function recordStream(recorder: Recorder, signal: AbortSignal) {
  const { stream } = recorder;
  const snapshot = await recordRead(
    recorder,
    { mode: stream.reads === 'changes' ? 'changes' : 'snapshot', cursor: null },
    signal,
  );
  const { cursor } = snapshot;
  const hasChanges = stream.reads === 'changes-and-snapshot' && snapshot.isWhole && cursor !== null;
  const changes = hasChanges ? await recordRead(recorder, { mode: 'changes', cursor }, signal) : null;
  return {
    exchanges: [...snapshot.exchanges, ...(changes?.exchanges ?? [])],
    changesFrom: snapshot.exchanges.length,
    isWhole: snapshot.isWhole && changes?.isWhole !== false,
  };
}

/** Records one read, up to a number of pages. The requests for the children of rows are no pages. */
async function recordRead(
  { listen, pagesMax, stream, source }: Recorder,
  from: Parameters<SourceStream['pull']>[0],
  signal: AbortSignal,
): Promise<{ exchanges: Exchange[]; isWhole: boolean; cursor: JsonValue | null }> {
  const exchanges: Exchange[] = [];
  const enough = new AbortController();
  let pages = 0;
  let cursor: JsonValue | null = null;
  listen((exchange) => {
    if (enough.signal.aborted) return;
    const pathOf = ({ request }: Exchange) => request.path.split('?', 1)[0];
    if (exchanges[0] === undefined || pathOf(exchange) === pathOf(exchanges[0])) pages += 1;
    if (pages > pagesMax) enough.abort();
    else exchanges.push(exchange);
  });
  try {
    let given = 0;
    for await (const page of stream.pull(from, AbortSignal.any([signal, enough.signal]))) {
      if (exchanges.length === 0) throw withoutRest(source);
      cursor = page.cursor ?? null;
      given += 1;
      if (given > pagesMax) enough.abort();
    }
    if (exchanges.length === 0) throw withoutRest(source);
  } catch (error) {
    if (!enough.signal.aborted || signal.aborted) throw error;
  } finally {
    listen(() => {});
  }
  return { exchanges, isWhole: !enough.signal.aborted, cursor };
}

function withoutRest(source: string): Error {
  return fault('usage', `The source "${source}" sends no requests to a REST API, so there is nothing to record.`, {
    suggestion: 'Name a source with `connector: rest`, or with a connector of `defineRestConnector`.',
  });
}
