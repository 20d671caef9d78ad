import { rest } from '../../../connectors/rest/index.ts';
import type { SourceRow } from '../../../src/sdk/index.ts';
import { type RestReadResult, readRest } from './read-rest.ts';
import { type RestCall, type RestReply, startRestServer } from './rest-server.ts';

type Request = NonNullable<Parameters<typeof readRest>[2]>;

export interface ReadFromResult extends RestReadResult {
  /** The requests that the server got, in order. */
  calls: RestCall[];
}

/** Reads a stream of the rest connector once from a server that answers as a test decides. */
export async function readFrom(
  answer: (call: RestCall, calls: readonly RestCall[]) => RestReply | Promise<RestReply>,
  stream: object,
  { options = {}, key = ['id'], ...request }: { options?: object; key?: readonly string[] } & Request = {},
): Promise<ReadFromResult> {
  const server = await startRestServer((call) => answer(call, server.calls));
  try {
    const settings = { options: { base: server.base, limits: { perSecond: 1000 }, ...options }, stream, key };
    return { ...(await readRest(rest, settings, request)), calls: server.calls };
  } finally {
    await server.close();
  }
}

/** The ids of rows, in order. */
export function idsOf(rows: readonly SourceRow[]): unknown[] {
  return rows.map(({ fields }) => fields['id']);
}

/** The numbers from 1. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}
