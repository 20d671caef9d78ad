// Records what a plan reads from its sources, so that exactly these rows can be applied later: a row that changes meanwhile is not
// in them.

import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { fault } from '../../domain/faults.ts';
import type { Page, ReadMode, SourceReader, SourceStream } from '../../domain/ports/source.ts';
import { closeInOrder } from '../../lib/errors.ts';
import { canonicalJson, type JsonValue } from '../../lib/json.ts';

/** One read of a stream, from its beginning to its end or to where the reader has stopped. */
interface RecordedRead {
  mode: ReadMode;
  cursor: string;
  /** The place of each page in the file. */
  pages: { at: number; length: number }[];
  /** What came after the last page. A read that has failed must never look like a whole export. */
  end: 'unread' | 'end' | { error: unknown };
}

interface RecordedStream {
  stream: SourceStream;
  content: Hash;
  reads: RecordedRead[];
}

export interface Recording {
  /** Opens a reader, and records what is read from it. The result acknowledges nothing, and leaves the opened reader open. */
  record(source: string, open: () => Promise<SourceReader>): Promise<SourceReader>;
  /**
   * A reader that gives again what was recorded, also the error of a read. It acknowledges to the recorded reader.
   *
   * @throws the error because of which the reader could not be opened
   */
  replay(source: string): SourceReader;
  /** Why the source could not be opened or read; null if it could be. */
  failure(source: string): { error: unknown } | null;
  /** A digest of the rows of each stream, by source and stream. Call it once, after all reads. */
  contents(): Record<string, string>;
  /** Closes the recorded readers. */
  close(): Promise<void>;
}

/** Adds rows to a digest, which does not depend on how they are divided into pages. */
function addRows(content: Hash, rows: Page['rows']): void {
  if (rows.length === 0) return;
  const texts = JSON.stringify(
    rows.map(({ fields, issues, isGone }) => {
      if (isGone === true) return [fields, issues ?? [], 'gone'];
      return issues === undefined ? fields : [fields, issues];
    }),
  );
  // The list without its brackets.
  content.update(`${texts.slice(1, -1)},`);
}

/** @param folder where the rows are kept; null to keep only their digests */
export async function createRecording(folder: string | null): Promise<Recording> {
  const file: FileHandle | null = folder === null ? null : await open(join(folder, 'rows'), 'wx+', 0o600);
  const readers = new Map<string, { reader: SourceReader; streams: Map<string, RecordedStream> }>();
  const failures = new Map<string, { error: unknown }>();
  let end = 0;

  async function keep(read: RecordedRead, page: Page): Promise<void> {
    if (file === null) return;
    const bytes = serialize(page);
    // On a full disk `write` may write a part of it, and says so only with a count.
    await file.writeFile(bytes);
    read.pages.push({ at: end, length: bytes.length });
    end += bytes.length;
  }

  async function* recorded(
    source: string,
    of: RecordedStream,
    ...[from, signal]: Parameters<SourceStream['pull']>
  ): AsyncGenerator<Page> {
    const read: RecordedRead = { mode: from.mode, cursor: canonicalJson(from.cursor), pages: [], end: 'unread' };
    of.reads.push(read);
    of.content.update(`${read.mode} ${read.cursor}\n`);
    try {
      for await (const page of of.stream.pull(from, signal)) {
        addRows(of.content, page.rows);
        if (page.beginAgain !== undefined) of.content.update('begins again\n');
        await keep(read, page);
        yield page;
      }
      read.end = 'end';
    } catch (error) {
      read.end = { error };
      failures.set(source, read.end);
      throw error;
    }
  }

  async function* replayed(
    { reads }: RecordedStream,
    name: string,
    { mode, cursor }: { mode: ReadMode; cursor: JsonValue | null },
  ): AsyncGenerator<Page> {
    const read = reads.shift();
    if (read?.mode !== mode || read.cursor !== canonicalJson(cursor)) {
      throw fault('plan.stale', `The plan does not fit any more: ${name} would be read from another place now.`);
    }
    for (const { at, length } of read.pages) {
      const bytes = Buffer.alloc(length);
      await file?.read(bytes, 0, length, at);
      yield deserialize(bytes) as Page;
    }
    if (read.end === 'end') return;
    if (read.end !== 'unread') throw read.end.error;
    throw fault('plan.stale', `The plan does not fit any more: it has not read ${name} to its end.`);
  }

  return {
    async record(source, open) {
      const reader = await open().catch((error: unknown) => {
        failures.set(source, { error });
        throw error;
      });
      const streams = new Map(
        reader.streams.map((stream) => [
          stream.name,
          { stream, content: createHash('sha256'), reads: [] } satisfies RecordedStream,
        ]),
      );
      readers.set(source, { reader, streams });
      return {
        streams: [...streams.values()].map((of) => ({
          ...of.stream,
          pull: (...from) => recorded(source, of, ...from),
        })),
        acknowledge: () => Promise.resolve(),
        close: () => Promise.resolve(),
      };
    },
    replay(source) {
      const found = readers.get(source);
      const failure = failures.get(source);
      if (found === undefined && failure !== undefined) throw failure.error;
      if (found === undefined) throw new Error(`Nothing of ${source} was recorded.`);
      const { reader, streams } = found;
      return {
        streams: [...streams.values()].map((of) => ({
          ...of.stream,
          pull: (from) => replayed(of, `${source}/${of.stream.name}`, from),
        })),
        acknowledge: (...acknowledged) => reader.acknowledge(...acknowledged),
        close: () => Promise.resolve(),
      };
    },
    failure: (source) => failures.get(source) ?? null,
    contents: () =>
      Object.fromEntries(
        [...readers].flatMap(([source, { streams }]) =>
          [...streams].map(([name, { content }]) => [`${source}/${name}`, content.digest('base64url')]),
        ),
      ),
    async close() {
      const opened = [...readers.values()];
      const closing = opened.map(
        ({ reader }) =>
          async () =>
            reader.close(),
      );
      await closeInOrder([...closing, async () => file?.close()]);
    },
  };
}
