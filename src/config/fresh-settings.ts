import type { ConnectorSettings, LoadedStream } from './checks/check-connector.ts';
import type { ConnectorSchemas } from './connector-loader.ts';
import type { PathSegment } from './problem.ts';
import { secretPathsIn, valueAt } from './schema/schema-walk.ts';
import type { SecretSource } from './secret-source.ts';

/** The options of a source and of its streams. */
export interface FreshSettings {
  options: unknown;
  streams: LoadedStream[];
}

/**
 * Returns a function that gives the settings of a source with every secret read again from its file or variable.
 *
 * @param source the source in the config, with its placeholders replaced
 * @param secretAt the secret at a path below the source
 */
export function createSettingsReader<Connector extends ConnectorSchemas>(
  source: unknown,
  { connector, options, streams }: ConnectorSettings<Connector>,
  secretAt: (path: readonly PathSegment[], text: string) => SecretSource,
): () => Promise<FreshSettings> {
  const isSingle = valueAt(source, ['streams']) === undefined;
  const secretsAt = (schema: ConnectorSchemas['options'], at: readonly PathSegment[]): Secret[] =>
    secretPathsIn(schema, valueAt(source, at)).flatMap((path) => {
      const text = valueAt(source, [...at, ...path]);
      return typeof text === 'string' ? [{ path, source: secretAt([...at, ...path], text) }] : [];
    });
  const own = secretsAt(connector.options, ['options']);
  const byStream = streams.map(({ name }) =>
    secretsAt(connector.streamOptions, isSingle ? ['options'] : ['streams', name]),
  );
  return async () => ({
    options: await withSecrets(options, own),
    streams: await Promise.all(
      streams.map(async (stream, at) => ({
        ...stream,
        options: await withSecrets(stream.options, byStream[at] ?? []),
      })),
    ),
  });
}

interface Secret {
  /** The path below the options to which the secret belongs. */
  path: PathSegment[];
  source: SecretSource;
}

async function withSecrets(options: unknown, secrets: readonly Secret[]): Promise<unknown> {
  let fresh = options;
  for (const { path, source } of secrets) {
    if (typeof valueAt(options, path) === 'string') fresh = withValue(fresh, path, await source.read());
  }
  return fresh;
}

/** A copy with another value at a path. */
function withValue(tree: unknown, [first, ...rest]: readonly PathSegment[], value: string): unknown {
  if (first === undefined) return value;
  if (Array.isArray(tree)) return tree.map((entry, at) => (at === first ? withValue(entry, rest, value) : entry));
  if (typeof tree !== 'object' || tree === null) return tree;
  return { ...tree, [first]: withValue(valueAt(tree, [first]), rest, value) };
}
