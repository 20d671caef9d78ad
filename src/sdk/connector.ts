import type { z } from 'zod';
import type { Page } from '../domain/ports/source.ts';
import type { JsonValue } from '../lib/json.ts';
import type { Logger } from '../lib/logging.ts';

export type { Page, SourceRow } from '../domain/ports/source.ts';

/** A stream as the operator configured it, with the connector's own stream options validated. */
export interface StreamRequest<StreamOptions> {
  name: string;
  options: StreamOptions;
  /** The cursor of the last stored page, or null on the first pull. */
  cursor: JsonValue | null;
  signal: AbortSignal;
}

/** What a connector gets from its host. */
export interface ConnectorHost {
  /** Resolves a path of the config: relative to the config file's folder. */
  resolvePath(path: string): string;
  log: Logger;
}

/** An opened source. */
export interface OpenSource<StreamOptions> {
  /**
   * Reads a stream page by page. Pages are pulled: the next one is asked for only after the last one is stored, so a
   * connector holds one page at a time and needs no buffer of its own.
   *
   * Bad rows are rows with `issues`. Throw (a `SourceFault`) only when the rest of the stream cannot be read.
   */
  read(request: StreamRequest<StreamOptions>): AsyncIterable<Page>;
  /** Tries that a stream can be read and says in a line what is there, for `check`: a file's size, a table's columns. */
  probe(stream: { name: string; options: StreamOptions; signal: AbortSignal }): Promise<string>;
  close(): Promise<void>;
}

/** The code that can read one kind of system. */
export interface Connector<Options = unknown, StreamOptions = unknown> {
  /** Lower-case, digits and dashes; the name of its folder. */
  id: string;
  /** One line, for people who look for a connector. */
  title: string;
  /**
   * What a complete read means. `snapshot`: each read gives everything there is, so a record that was not seen is
   * missing. `changes`: a read gives what changed since the cursor, so nothing can be said of the rest.
   */
  reads: 'snapshot' | 'changes';
  /** The source's `options`. Every field has a `.describe()`, which becomes its documentation. */
  options: z.ZodType<Options>;
  /** What stands under a stream besides `key`. Where the stream is not named, the same fields stand in `options`. */
  streamOptions: z.ZodType<StreamOptions>;
  open(options: Options, host: ConnectorHost): Promise<OpenSource<StreamOptions>>;
}

/** Declares a connector and infers its option types. */
export function defineConnector<Options, StreamOptions>(
  connector: Connector<Options, StreamOptions>,
): Connector<Options, StreamOptions> {
  return connector;
}
