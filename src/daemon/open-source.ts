import type { LoadedConfig, LoadedSource } from '../config/loaded-config.ts';
import type { SourceReader } from '../domain/ports/source.ts';
import type { Logger } from '../lib/logging.ts';
import type { Connector, ConnectorHost } from '../sdk/connector.ts';

export type RuntimeConfig = LoadedConfig<Connector>;
export type ConfiguredSource = LoadedSource<Connector>;

/** Opens a configured source with its connector. */
export async function openSource(source: ConfiguredSource, config: RuntimeConfig, log: Logger): Promise<SourceReader> {
  const { connector, options, streams } = source;
  const opened = await connector.open(options, hostOf(config, log));
  return {
    streams: streams.map((stream) => ({
      name: stream.name,
      key: stream.key,
      snapshot: connector.reads === 'snapshot',
      read: (cursor, signal) => opened.read({ name: stream.name, options: stream.options, cursor, signal }),
    })),
    close: () => opened.close(),
  };
}

/** Says in a line what each stream of a source holds, or throws what keeps it from being read. */
export async function probeSource(
  source: ConfiguredSource,
  config: RuntimeConfig,
  log: Logger,
  signal: AbortSignal,
): Promise<{ stream: string; found: string }[]> {
  const opened = await source.connector.open(source.options, hostOf(config, log));
  try {
    const found: { stream: string; found: string }[] = [];
    for (const { name, options } of source.streams) {
      found.push({ stream: name, found: await opened.probe({ name, options, signal }) });
    }
    return found;
  } finally {
    await opened.close();
  }
}

function hostOf(config: RuntimeConfig, log: Logger): ConnectorHost {
  return { resolvePath: (path) => config.resolvePath(path), log };
}
