import { rest } from '../../../connectors/rest/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { type RestReadResult, readRest } from './read-rest.ts';
import { type RestCall, type RestReply, startRestServer } from './rest-server.ts';

type Answer = (call: RestCall, calls: readonly RestCall[]) => RestReply | Promise<RestReply>;

interface ReadRequest extends NonNullable<Parameters<typeof readRest>[2]> {
  options?: object;
  key?: readonly string[];
}

export interface ReadFromResult extends RestReadResult {
  /** The requests that the server got, in order. */
  calls: RestCall[];
}

/** Serves answers, for as long as `use` runs, to the rest connector. `read` reads a stream. */
export async function withAnswers<Result>(
  answer: Answer,
  use: (read: (stream: object, request?: ReadRequest) => Promise<ReadFromResult>) => Promise<Result>,
): Promise<Result> {
  const server = await startRestServer((call) => answer(call, server.calls));
  try {
    return await use(async (stream, { options = {}, key = ['id'], ...request } = {}) => {
      const begin = server.calls.length;
      const settings = { options: { base: server.base, limits: { perSecond: 1000 }, ...options }, stream, key };
      return { ...(await readRest(rest, settings, request)), calls: server.calls.slice(begin) };
    });
  } finally {
    await server.close();
  }
}

/** Reads a stream of the rest connector once from a server that answers as a test decides. */
export function readFrom(answer: Answer, stream: object, request: ReadRequest = {}): Promise<ReadFromResult> {
  return withAnswers(answer, (read) => read(stream, request));
}

/** The ids of rows, in order. */
export function idsOf(rows: readonly SourceRow[]): unknown[] {
  return rows.map(({ fields }) => fields['id']);
}

/** The numbers from 1. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}
