import type { JsonObject } from '../../../src/sdk/index.ts';
import type { RestApi, RestFixtures } from '../../../src/sdk/testing/index.ts';
import type { PresetSource } from '../../support/rest/preset-world.ts';

export const SIZE = 10;

/** A stream of a config, with what the documentation says about its API. */
export interface ConfigStream {
  /** The source of the config, for a server at this address. */
  source: (base: string) => PresetSource;
  stream: string;
  api: RestApi;
  row: (number: number) => JsonObject;
  /** Changes a row that has no text besides its key. */
  change?: (row: JsonObject) => JsonObject;
}

export function fixturesOf({ source, stream, api, row, change }: ConfigStream): RestFixtures {
  return {
    api,
    ...(change === undefined ? {} : { change }),
    records: Array.from({ length: 35 }, (_, at) => row(at + 1)),
    settings(base) {
      const { options, streams } = source(base);
      const { key, ...settings } = { key: [], ...streams[stream] };
      const limits = { ...(options['limits'] as JsonObject), attempts: 2 };
      return { options: { ...options, limits }, stream: settings, key: key as string[] };
    },
  };
}
