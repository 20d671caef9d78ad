import { z } from 'zod';
import { type Connector, defineConnector, sourceFault } from '../connector.ts';
import {
  REST_SOURCE,
  REST_STREAM,
  type RestSource,
  type RestSourceInput,
  type RestStream,
  type RestStreamInput,
} from './rest-options.ts';
import { checkStream } from './stream-rules.ts';

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
