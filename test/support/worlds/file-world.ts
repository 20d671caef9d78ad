import { resolve } from 'node:path';
import { csv } from '../../../connectors/csv/index.ts';
import type { Connector, JsonValue, OpenSource, Page } from '../../../src/sdk/index.ts';

/** A source of files, opened as a run opens it. */
export interface FileWorld {
  /** Reads a stream to its end. Returns its pages. */
  pages(stream?: string, from?: { cursor?: JsonValue; signal?: AbortSignal }): Promise<Page[]>;
  /** Reads a stream to its end. Returns the values of the column `id`, or `nothing new`. */
  ids(stream?: string, from?: { cursor?: JsonValue }): Promise<unknown[] | 'nothing new'>;
  check(stream?: string): Promise<string>;
  acknowledge(...streams: string[]): Promise<void>;
  /** The messages of the log so far, with the warnings of pages, which a run logs. */
  log: string[];
  close(): Promise<void>;
}

export interface FileWorldOptions {
  folder: string;
  options?: object;
  /** The options of each stream, by its name. */
  streams: Record<string, object>;
  connector?: Connector<never, never>;
}

const never = new AbortController().signal;

export async function openFileWorld({
  folder,
  options = {},
  streams,
  connector,
}: FileWorldOptions): Promise<FileWorld> {
  const used = (connector ?? csv) as unknown as Connector;
  const log: string[] = [];
  const note = (_fields: object, message: string) => void log.push(message);
  const logger = { debug: () => undefined, info: note, warn: note, error: note };
  const source = (await used.open(used.options.parse(options), {
    resolvePath: (path) => resolve(folder, path),
    log: logger,
  })) as OpenSource<unknown>;
  const targetOf = (name: string) => ({
    name,
    key: [],
    options: used.streamOptions.parse(streams[name]),
    signal: never,
  });

  async function pages(
    name = 'default',
    { cursor = null, signal = never }: { cursor?: JsonValue; signal?: AbortSignal } = {},
  ) {
    const target = targetOf(name);
    const mode = used.reads({}, target.options) === 'changes' ? 'changes' : 'snapshot';
    const read: Page[] = [];
    for await (const page of source.pull({ ...target, mode, cursor, signal })) {
      read.push(page);
      log.push(...(page.warnings ?? []));
      // Stops here because the pipeline asks for no further page either.
      if (page.nothingNew === true) break;
    }
    return read;
  }

  return {
    pages,
    async ids(name, from) {
      const read = await pages(name, from);
      if (read.some((page) => page.nothingNew)) return 'nothing new';
      return read.flatMap((page) => page.rows.map((row) => row.fields['id']));
    },
    check: async (name = 'default') => (await source.check(targetOf(name))).found,
    async acknowledge(...names) {
      await source.acknowledge?.(names.length === 0 ? Object.keys(streams) : names, never);
    },
    log,
    close: () => source.close(),
  };
}
