import { isAbsolute } from 'node:path';
import type { z } from 'zod';
import type { Result } from '../lib/result.ts';

/** The schemas of a connector that the config needs. */
export interface ConnectorSchemas {
  id: string;
  /** The source's `options`. */
  options: z.ZodType;
  /** The settings of a stream besides `key`. */
  streamOptions: z.ZodType;
  /** The endings of the names of files that the connector reads; absent if it reads no files, or files of any name. */
  endings?: readonly string[];
}

/** Why a connector cannot be used, as a full sentence. */
export interface ConnectorFlaw {
  message: string;
  cure?: string;
}

/** Finds the connectors that a config names. */
export interface ConnectorLoader<Connector> {
  /** The ids of the built-in connectors. */
  ids: readonly string[];
  /**
   * Loads a connector by its id, its path or the name of its package. Null if the name is neither an id nor a path nor an
   * installed package.
   *
   * @param folder the config file's folder
   */
  load(name: string, folder: string): Promise<Result<Connector, ConnectorFlaw> | null>;
}

/** True for a connector that is named by the path of its module. */
export function isPathOfConnector(name: string): boolean {
  return name.startsWith('./') || name.startsWith('../') || isAbsolute(name);
}

/** The connectors that a config names, each with its result. */
export type NamedConnectors<Connector> = ReadonlyMap<string, Result<Connector, ConnectorFlaw> | null>;

/** Loads every connector that the sources of a config name. */
export async function loadNamed<Connector>(
  sources: readonly unknown[],
  loader: ConnectorLoader<Connector>,
  folder: string,
): Promise<NamedConnectors<Connector>> {
  const names = sources.flatMap((source) => {
    const name = typeof source === 'object' && source !== null && 'connector' in source ? source.connector : undefined;
    return typeof name === 'string' ? [name] : [];
  });
  const loaded = new Map<string, Result<Connector, ConnectorFlaw> | null>();
  for (const name of new Set(names)) loaded.set(name, await loader.load(name, folder));
  return loaded;
}
