import type { Connector } from '../src/sdk/index.ts';

/** The connectors of this package by id. Each is loaded by itself, because what one reads with costs the others nothing. */
export const BUILT_IN: Readonly<Record<string, () => Promise<Connector>>> = {
  csv: async () => (await import('./csv/index.ts')).csv,
  json: async () => (await import('./json/index.ts')).json,
};

/** All of them, for documents and checks. */
export function loadBuiltIn(): Promise<Connector[]> {
  return Promise.all(Object.values(BUILT_IN).map((load) => load()));
}
