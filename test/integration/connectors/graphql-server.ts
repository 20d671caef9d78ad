import { createServer, type IncomingHttpHeaders } from 'node:http';
import { buildSchema } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/http';
import { endServer, listenLocally } from '../../support/servers/local-server.ts';

export interface Part {
  id: number;
  name: string;
  updatedAt: string;
}

const SCHEMA = buildSchema(`
  type Part { id: ID! name: String! updatedAt: String! weight: Float }
  type PartEdge { cursor: String! node: Part! }
  type PageInfo { hasNextPage: Boolean! endCursor: String }
  type PartConnection { edges: [PartEdge!]! nodes: [Part!]! pageInfo: PageInfo! totalCount: Int! }
  input PartFilter { updatedSince: String }
  type Query { parts(first: Int!, after: String, filter: PartFilter): PartConnection! }
`);

type Arguments = { first: number; after?: string; filter?: { updatedSince?: string } };

/**
 * A real GraphQL server (graphql-http over the reference engine), with a connection as Relay describes it.
 *
 * @param admits decides by the headers of a request whether it is logged in
 */
export async function startGraphqlServer(admits: (headers: IncomingHttpHeaders) => Promise<boolean>) {
  const state = {
    parts: [] as Part[],
    /** The id of a part whose weight cannot be told. */
    broken: null as number | null,
    /** Called before a page is answered, with its number. */
    onPage: null as ((number: number, headers: IncomingHttpHeaders) => Promise<void> | void) | null,
    pages: [] as Arguments[],
  };
  const root = {
    parts(asked: Arguments) {
      state.pages.push(asked);
      const { first, after, filter } = asked;
      const from = after === undefined ? 0 : Number(Buffer.from(after, 'base64url').toString());
      const since = filter?.updatedSince ?? '';
      const all = state.parts.filter(({ updatedAt }) => updatedAt >= since).toSorted((a, b) => a.id - b.id);
      const found = all.filter(({ id }) => id > from).slice(0, first);
      const nodes = found.map((part) => ({
        ...part,
        weight: () => {
          if (part.id === state.broken) throw new Error('the scales are broken');
          return part.id / 10;
        },
      }));
      const edges = nodes.map((node) => ({ node, cursor: Buffer.from(String(node.id)).toString('base64url') }));
      const last = found.at(-1)?.id ?? from;
      return {
        edges,
        nodes,
        totalCount: all.length,
        pageInfo: { hasNextPage: all.some(({ id }) => id > last), endCursor: edges.at(-1)?.cursor ?? null },
      };
    },
  };
  const handle = createHandler({ schema: SCHEMA, rootValue: root });
  let number = 0;
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      number += 1;
      await state.onPage?.(number, request.headers);
      if (await admits(request.headers)) await handle(request, response);
      else response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
    };
    answer().catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  return Object.assign(state, {
    base: await listenLocally(server),
    requests: () => number,
    close: () => endServer(server),
  });
}

export type GraphqlServer = Awaited<ReturnType<typeof startGraphqlServer>>;
