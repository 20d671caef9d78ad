import type { LoadedConfig, LoadedSource } from '../../config/loaded-config.ts';
import type { Page, SourceReader } from '../../domain/ports/source.ts';
import { Fault } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging.ts';
import type { Connector, ConnectorHost } from '../../sdk/connector.ts';

export type RuntimeConfig = LoadedConfig<Connector>;
export type ConfiguredSource = LoadedSource<Connector>;

/** Opens a configured source with its connector. An error names the place of the source in the config. */
export async function openSource(source: ConfiguredSource, config: RuntimeConfig, log: Logger): Promise<SourceReader> {
  const { connector, streams } = source;
  const opened = await open(source, config, log);
  return {
    streams: streams.map((stream) => ({
      name: stream.name,
      key: stream.key,
      snapshot: connector.reads === 'snapshot',
      read: (cursor, signal) =>
        readAt(stream.path, () => opened.read({ name: stream.name, options: stream.options, cursor, signal })),
    })),
    close: () => opened.close(),
  };
}

/** Describes each stream of a source in a line. Throws if a stream cannot be read. */
export async function probeSource(
  source: ConfiguredSource,
  config: RuntimeConfig,
  log: Logger,
  signal: AbortSignal,
): Promise<{ stream: string; found: string }[]> {
  const opened = await open(source, config, log);
  try {
    const found: { stream: string; found: string }[] = [];
    for (const { name, options, path } of source.streams) {
      try {
        found.push({ stream: name, found: await opened.probe({ name, options, signal }) });
      } catch (error) {
        throw placed(error, path);
      }
    }
    return found;
  } finally {
    await opened.close();
  }
}

async function open({ connector, options, path }: ConfiguredSource, config: RuntimeConfig, log: Logger) {
  try {
    return await connector.open(options, hostOf(config, log));
  } catch (error) {
    throw placed(error, path);
  }
}

async function* readAt(path: string, read: () => AsyncIterable<Page>): AsyncGenerator<Page> {
  try {
    yield* read();
  } catch (error) {
    throw placed(error, path);
  }
}

/** Adds the place in the config, which the connector does not know. */
function placed(error: unknown, path: string): unknown {
  if (!(error instanceof Fault) || error.code !== 'source.unreadable' || error.path !== undefined) return error;
  const { code, exitCode, message, suggestion, cause } = error;
  return new Fault(code, exitCode, message, { path, cause, ...(suggestion === undefined ? {} : { suggestion }) });
}

function hostOf(config: RuntimeConfig, log: Logger): ConnectorHost {
  return { resolvePath: (path) => config.resolvePath(path), log };
}
