import { createRequire } from 'node:module';
import { z } from 'zod';
import { fault } from '../domain/faults.ts';
import type { MappingModule } from '../domain/mapping.ts';
import type { FoundColumns, Page, ReadMode, StreamReads } from '../domain/ports/source.ts';
import type { Fault, FaultDetails } from '../lib/errors.ts';
import type { JsonValue } from '../lib/json.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { findPackage } from '../lib/package.ts';
import type { Exchange } from './rest/exchange.ts';

export type { FoundColumns, HeaderCandidate, Page, ReadMode, SourceRow, StreamReads } from '../domain/ports/source.ts';

/** The version of this interface. A connector that was written for another version is refused. */
export const SDK_VERSION = 1;

/** A stream as the operator configured it, with the connector's own stream options validated. */
export interface StreamTarget<StreamOptions> {
  name: string;
  options: StreamOptions;
  /** The key columns of the stream. Rows with the same values in them are the same record. Empty if the config names none. */
  key: readonly string[];
  signal: AbortSignal;
  /**
   * Call it with the columns of each file or query as soon as they are known, and before its first row, if every row has
   * the same columns. It throws if the config needs a column that is not there.
   */
  onColumns?: ((found: FoundColumns) => void) | undefined;
}

export interface PullRequest<StreamOptions> extends StreamTarget<StreamOptions> {
  /**
   * The kind of read: all records, or the changes since the cursor. If a stream supports only one kind, it is asked for
   * that kind.
   */
  mode: ReadMode;
  /**
   * With `changes`, the cursor of the last stored page, or null on the first pull. With `snapshot` always null, because
   * an interrupted snapshot begins again.
   */
  cursor: JsonValue | null;
}

/** The result of `check` for one stream. */
export interface StreamCheck {
  /** The result in one line: a file's size, a table's columns. */
  found: string;
  /**
   * The names of the columns or members, if they are known without reading all rows. Mappings are compared with them.
   */
  columns?: readonly string[];
  /** What may be wrong although the stream can be read, in full sentences. */
  warnings?: readonly string[];
}

/** The state of the data that a read of the stream would find now, for sources with `watch: true`. */
export interface StreamLook {
  /**
   * A text that changes whenever a read would give other rows; null if nothing can be read, or if this cannot be known.
   */
  facts: string | null;
  /** How soon `look` may be called again, in milliseconds. */
  againMs: number;
}

/** The services that the program gives to a connector. */
export interface ConnectorHost {
  /** Resolves a path of the config, which is relative to the config file's folder. */
  resolvePath(path: string): string;
  log: Logger;
  /** True if a value that would be stored, such as a link, has a secret of the config. */
  hasSecret?: ((value: string) => boolean) | undefined;
  /** Gets each request to a REST API with its answer, while somebody records them. */
  onExchange?: ((exchange: Exchange) => void) | undefined;
}

/** An opened source. */
export interface OpenSource<StreamOptions> {
  /** Checks that a stream can be read, without reading all of it. */
  check(stream: StreamTarget<StreamOptions>): Promise<StreamCheck>;
  /**
   * Finds out at little cost whether a read would give other rows than before, without reading. Define it if other
   * programs write files: `watch: true` then starts a run.
   */
  look?(stream: StreamTarget<StreamOptions>): Promise<StreamLook>;
  /**
   * Reads a stream page by page. Pages are pulled: the next one is asked for only after the last one is stored, so a
   * connector holds one page at a time and needs no buffer.
   *
   * Bad rows are rows with `issues`. Throw (a `sourceFault`) only when the rest of the stream cannot be read.
   */
  pull(request: PullRequest<StreamOptions>): AsyncIterable<Page>;
  /**
   * Called once after all streams were read to the end and stored, before the source is closed. It gets the names of
   * the streams whose reads the guard has accepted. Archive or delete the files that were read here. A crash can happen
   * before this call, so the same files may be read again.
   */
  acknowledge?(streams: readonly string[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The code that can read one kind of system. */
export interface Connector<Options = unknown, StreamOptions = unknown> {
  /** The `SDK_VERSION` that the connector was written for; `defineConnector` adds it. */
  sdk: number;
  /** Lower-case, digits and dashes; the name of its folder. */
  id: string;
  /** One line, for people who look for a connector. */
  title: string;
  /** The kinds of reads that a stream supports with these options. */
  reads(options: Options, stream: StreamOptions): StreamReads;
  /**
   * How often a stream that gives changes is also read completely, in milliseconds, if its own options say so. Null, or
   * without this function, `snapshotEvery` of the source says it.
   */
  snapshotEveryMs?(options: Options, stream: StreamOptions): number | null;
  /**
   * True if every row of a file or stream has the same columns, as in a table. A run is then stopped if a mapping needs
   * a column that is not there. Leave it out if rows are documents, which need not have all members.
   */
  fixedColumns?: boolean;
  /**
   * The usual endings of the names of its files, in lower case, such as `.xlsx`. If an option of a stream does not fit, `check`
   * compares them with `path`, and names the built-in connector to which the stream belongs.
   */
  endings?: readonly string[];
  /**
   * The source's `options`. Every field has a `.describe()`, which becomes its documentation. Passwords and keys are
   * `secret()`.
   */
  options: z.ZodType<Options>;
  /** The settings of a stream besides `key`. A source with one unnamed stream has these settings in `options`. */
  streamOptions: z.ZodType<StreamOptions>;
  open(options: Options, host: ConnectorHost): Promise<OpenSource<StreamOptions>>;
}

/** The parts of a connector that its author writes. */
export interface ConnectorDefinition<Options, StreamOptions>
  extends Omit<Connector<Options, StreamOptions>, 'sdk' | 'reads'> {
  /** One value for all streams, or a function if it depends on the options. */
  reads: StreamReads | ((options: Options, stream: StreamOptions) => StreamReads);
}

/** Declares a connector and infers its option types. Export it as the module's default. */
export function defineConnector<Options, StreamOptions>(
  definition: ConnectorDefinition<Options, StreamOptions>,
): Connector<Options, StreamOptions> {
  const { reads } = definition;
  return { ...definition, sdk: SDK_VERSION, reads: typeof reads === 'function' ? reads : () => reads };
}

/** The longest secret, long enough for a private key. */
const LENGTH_MAX = 65_536;

/**
 * An option whose value is never shown: a password, a token, a private key. The program removes the value from logs and
 * messages, and reads it again from its file or variable whenever the source is opened, so that a new password needs no
 * restart. Nevertheless do not put it into the texts of your connector.
 */
export function secret(): z.ZodString {
  return z.string().min(1, 'a value that is not empty').max(LENGTH_MAX).meta({ secret: true });
}

/** Declares a mapping module; export it as the module's default. */
export function defineMapping(module: MappingModule): MappingModule {
  return module;
}

/**
 * The error a connector throws when a stream cannot be read at all: the message says what happened and where, and the
 * suggestion says what to do.
 */
export function sourceFault(message: string, details: FaultDetails = {}): Fault {
  return fault('source.unreadable', message, details);
}

/**
 * The command that installs a package which npm does not install together with dpp-sync: an optional peer in
 * package.json. Null if the package is installed.
 */
export function installCommandOf(name: string): string | null {
  try {
    createRequire(import.meta.url).resolve(name);
    return null;
  } catch {
    return `npm install ${name}@${String(findPackage().peers[name])}`;
  }
}
