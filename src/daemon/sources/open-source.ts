import type { LoadedConfig, LoadedSource } from '../../config/loaded-config.ts';
import type { Page, SourceReader } from '../../domain/ports/source.ts';
import { Fault } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging.ts';
import type { Connector, ConnectorHost, StreamCheck } from '../../sdk/connector.ts';

export type RuntimeConfig = LoadedConfig<Connector>;
export type ConfiguredSource = LoadedSource<Connector>;

/** Opens a configured source with its connector. An error names the place of the source in the config. */
export async function openSource(source: ConfiguredSource, config: RuntimeConfig, log: Logger): Promise<SourceReader> {
  const { connector, options, streams, path } = source;
  const opened = await open(source, config, log);
  return {
    streams: streams.map((stream) => ({
      name: stream.name,
      key: stream.key,
      reads: connector.reads(options, stream.options),
      fixedColumns: connector.fixedColumns === true,
      pull: (from, signal) =>
        pullAt(stream.path, () => opened.pull({ name: stream.name, options: stream.options, ...from, signal })),
    })),
    async acknowledge(names, signal) {
      try {
        await opened.acknowledge?.(names, signal);
      } catch (error) {
        throw placed(error, path);
      }
    },
    close: () => opened.close(),
  };
}

/** Tries to read one stream of a source. Throws if it cannot be read. */
export async function checkStream(
  source: ConfiguredSource,
  { name, options, path }: ConfiguredSource['streams'][number],
  { config, log, signal }: { config: RuntimeConfig; log: Logger; signal: AbortSignal },
): Promise<StreamCheck> {
  const opened = await open(source, config, log);
  try {
    return await opened.check({ name, options, signal });
  } catch (error) {
    throw placed(error, path);
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

async function* pullAt(path: string, pull: () => AsyncIterable<Page>): AsyncGenerator<Page> {
  try {
    yield* pull();
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
