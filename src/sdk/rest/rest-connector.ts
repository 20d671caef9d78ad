import { z } from 'zod';
import { isJsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { type Connector, defineConnector, sourceFault } from '../connector.ts';
import { placeholdersIn } from './placeholders.ts';
import { hasPositions } from './request-parts.ts';
import {
  REST_SOURCE,
  REST_STREAM,
  type RestSource,
  type RestSourceInput,
  type RestStream,
  type RestStreamInput,
} from './rest-options.ts';

/** The parts of a REST connector that its author writes. */
export interface RestConnectorDefinition<Options, StreamOptions> {
  id: string;
  title: string;
  /** The options of the source and of a stream that its users write. */
  options: z.ZodType<Options>;
  streamOptions: z.ZodType<StreamOptions>;
  /** The API: its address, login and limits. */
  source(options: Options): RestSourceInput;
  /** What a stream requests, and how its pages, changes and children work. */
  stream(stream: StreamOptions, options: Options): RestStreamInput;
}

/**
 * Declares a connector for one REST API. Its author describes the requests, in the form in which `connector: rest` has them in a
 * config. The SDK does the rest: the login, the pace, pages and the proof of their end, changes, and rows that move while they are read.
 */
export function defineRestConnector<Options, StreamOptions>(
  definition: RestConnectorDefinition<Options, StreamOptions>,
): Connector<Options, StreamOptions> {
  const { id, title, options, streamOptions } = definition;
  const streamOf = (stream: StreamOptions, of: Options): RestStream =>
    parsed(STREAM, definition.stream(stream, of), `stream of the connector ${id}`);
  return connectorOf({
    id,
    title,
    options,
    streamOptions,
    source: (of) => parsed(SOURCE, definition.source(of), `source of the connector ${id}`),
    stream: streamOf,
  });
}

/** What the author of a connector has written, checked like a config. */
function parsed<Value>(schema: z.ZodType<Value>, written: unknown, what: string): Value {
  const { data, error } = schema.safeParse(written);
  if (error === undefined) return data as Value;
  const issues = error.issues.map(({ path, message }) => `\`${path.join('.')}\`: ${message}`);
  throw sourceFault(`The ${what} is described wrongly: ${issues.join('; ')}.`, {
    suggestion: 'Correct what `defineRestConnector` gets in the code of the connector.',
  });
}

const SOURCE = z.strictObject(REST_SOURCE);
const STREAM = z.strictObject(REST_STREAM).superRefine(checkStream);

/** The connector whose options are the description of the API itself. */
export function restConnector(id: string, title: string): Connector<RestSource, RestStream> {
  return connectorOf({ id, title, options: SOURCE, streamOptions: STREAM, source: (of) => of, stream: (of) => of });
}

interface Parts<Options, StreamOptions> {
  id: string;
  title: string;
  options: z.ZodType<Options>;
  streamOptions: z.ZodType<StreamOptions>;
  source: (options: Options) => RestSource;
  stream: (stream: StreamOptions, options: Options) => RestStream;
}

function connectorOf<Options, StreamOptions>(parts: Parts<Options, StreamOptions>): Connector<Options, StreamOptions> {
  const { id, title, options: optionsSchema, streamOptions } = parts;
  return {
    ...defineConnector<Options, StreamOptions>({
      id,
      title,
      options: optionsSchema,
      streamOptions,
      reads: (options, stream) =>
        parts.stream(stream, options).changes === undefined ? 'snapshot' : 'changes-and-snapshot',
      async open(options, host) {
        // The client and its libraries are loaded when a source is read, and not with the SDK.
        const { openRestSource } = await import('./open-rest-source.ts');
        const streamOf = (stream: StreamOptions): RestStream => parts.stream(stream, options);
        return openRestSource(parts.source(options), streamOf, host);
      },
    }),
    snapshotEveryMs: (options, stream) => parts.stream(stream, options).reconcile ?? null,
  };
}

// How the options of a stream have to fit together.

/** Checks that the parts of a stream fit together. */
function checkStream(stream: RestStream, context: z.core.$RefinementCtx): void {
  const add = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
  const { page, changes, reconcile, each } = stream;
  if (changes !== undefined && changes.gone === undefined && reconcile === undefined) {
    add(['reconcile'], 'a time such as 7d, because `changes` do not show which records are gone');
  }
  if (changes === undefined && reconcile !== undefined)
    add(['reconcile'], 'only with `changes`: every other read is complete');
  if (page.by === 'bulkJob' && (each !== undefined || (changes !== undefined && 'deltaLink' in changes))) {
    add(['page'], '`bulkJob` without `each` and `deltaLink`');
  }
  const ofRow = placeholdersIn({ ...each } as unknown as JsonValue).find((name) => !name.startsWith('row.'));
  if (ofRow !== undefined)
    add(['each'], `only placeholders with values of the row, such as {{row.id}}, in place of {{${ofRow}}}`);
  checkRequest(stream, add);
  const own = changes !== undefined && 'by' in changes ? changes.page : undefined;
  if (own === undefined) return;
  // Changes have the request of the stream with another kind of pages, so its parts have to fit both.
  checkRequest({ ...stream, page: own }, (path, message) =>
    add(path[0] === 'page' ? ['changes', ...path] : path, message),
  );
}

/** What stands for the place of a page in its request. */
const PLACE_OF: Readonly<Record<string, string>> = {
  offset: 'offset',
  page: 'page',
  cursor: 'cursor',
  keyset: 'after',
};

/** Checks that each part of a request has only placeholders that have a value there, and the one without which it would not go on. */
function checkRequest({ get, query, body, headers, page, changes }: RestStream, add: Add): void {
  const size = 'size' in page && page.size !== undefined ? ['size'] : [];
  const place = PLACE_OF[page.by];
  const isCounted = page.by === 'offset' || page.by === 'page';
  const own = place === undefined ? [] : [place];
  checkPlaceholders(get, [], ['get'], add);
  const parts = { query, body };
  for (const [part, value] of Object.entries(parts))
    checkPlaceholders(value, isCounted ? [...own, ...size] : size, [part], add);
  checkPlaceholders(headers, size, ['headers'], add);
  const later = (page.by === 'cursor' || page.by === 'keyset' ? page : {}) as Pick<
    RestStream,
    'query' | 'body' | 'headers'
  >;
  const since: Pick<RestStream, 'query' | 'body' | 'headers'> = changes !== undefined && 'by' in changes ? changes : {};
  for (const part of ['query', 'body', 'headers'] as const) {
    checkPlaceholders(later[part], [...own, ...size], ['page', part], add);
    checkPlaceholders(since[part], ['since', ...size], ['changes', part], add);
  }
  for (const [name, { body: added }] of Object.entries({ page: later, changes: since }))
    checkPositions(body, added, [name, 'body'], add);
  const used = placeholdersIn([isCounted ? parts : later] as unknown as JsonValue);
  if (place !== undefined && !used.includes(place)) {
    add(
      [isCounted ? 'query' : 'page'],
      `{{${place}}} in ${isCounted ? '`query` or `body`' : '`query`, `body` or `headers` of `page`'}, which asks for the next page`,
    );
  }
  if (changes !== undefined && 'by' in changes && !placeholdersIn(since as unknown as JsonValue).includes('since')) {
    add(['changes'], '{{since}} in `query`, `body` or `headers` of `changes`, which asks for the changes');
  }
}

/** Checks that parts which are added to a list by position have an element there. A misplaced filter would be no filter. */
function checkPositions(value: JsonValue | undefined, added: JsonValue | undefined, path: string[], add: Add): void {
  if (value === undefined || added === undefined || !isJsonObject(added)) return;
  const isByPosition = Array.isArray(value) && hasPositions(added);
  for (const [name, member] of Object.entries(added)) {
    const own = isByPosition ? value[Number(name)] : isJsonObject(value) ? memberOf(value, name) : undefined;
    if (isByPosition && own === undefined)
      add([...path, name], `a position from 0 to ${value.length - 1} of the list in \`body\` of the stream`);
    checkPositions(own, member, [...path, name], add);
  }
}

type Add = (path: (string | number)[], message: string) => void;

function checkPlaceholders(value: JsonValue | undefined, names: readonly string[], path: string[], add: Add): void {
  for (const name of placeholdersIn(value ?? null)) {
    if (names.includes(name)) continue;
    const allowed = names.length === 0 ? 'no placeholder' : names.map((one) => `{{${one}}}`).join(', ');
    add(path, `${allowed} in place of {{${name}}}`);
  }
}
