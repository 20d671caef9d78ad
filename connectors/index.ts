import type { Connector } from '../src/sdk/index.ts';

/**
 * The connectors of this package by id. Each connector is loaded when it is used, so the libraries of unused connectors
 * are not loaded.
 */
export const BUILT_IN: Readonly<Record<string, () => Promise<Connector>>> = {
  csv: async () => (await import('./csv/index.ts')).csv,
  json: async () => (await import('./json/index.ts')).json,
  xlsx: async () => (await import('./xlsx/index.ts')).xlsx,
  'fixed-width': async () => (await import('./fixed-width/index.ts')).fixedWidth,
  xml: async () => (await import('./xml/index.ts')).xml,
  bmecat: async () => (await import('./bmecat/index.ts')).bmecat,
  gdsn: async () => (await import('./gdsn/index.ts')).gdsn,
  sql: async () => (await import('./sql/index.ts')).sql,
  rest: async () => (await import('./rest/index.ts')).rest,
  'sap-idoc': async () => (await import('./sap-idoc/index.ts')).sapIdoc,
};

/** Loads all built-in connectors, for documents and checks. */
export function loadBuiltIn(): Promise<Connector[]> {
  return Promise.all(Object.values(BUILT_IN).map((load) => load()));
}
