import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { LoadedConfig } from '../../../src/config/loaded-config.ts';
import { checkStream, openSource } from '../../../src/daemon/sources/open-source.ts';
import { type Connector, defineConnector, sourceFault, z } from '../../../src/sdk/index.ts';
import { loadText, SOUND_CONFIG } from '../../support/worlds/config-folder.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const STREAMS = SOUND_CONFIG.replace(
  'options: { path: products.csv, key: [SKU] }',
  'streams: { default: { path: products.csv, key: [SKU] }, boms: { path: boms.csv } }',
);

const reading = new AbortController();

/** Opens the config's source and reads one of its streams to the end. Returns the error. */
async function failureOfReading(config: LoadedConfig<Connector>, stream: number): Promise<unknown> {
  const [source] = config.sources;
  if (!source) throw new Error('the config has no source');
  try {
    const reader = await openSource(source, config, createRecordingLog());
    const pages = reader.streams[stream]?.pull({ mode: 'snapshot', cursor: null }, reading.signal) ?? [];
    for await (const page of pages) expect(page.rows).toEqual([]);
  } catch (error) {
    return error;
  }
  throw new Error('it was read, and should not have been');
}

async function failureOfChecking(config: LoadedConfig<Connector>): Promise<unknown> {
  const [source] = config.sources;
  if (!source) throw new Error('the config has no source');
  const [stream] = source.streams;
  if (!stream) throw new Error('the source has no stream');
  const context = { config, log: createRecordingLog(), signal: reading.signal };
  return checkStream(source, stream, context).catch((error: unknown) => error);
}

/** A connector that fails at one step with this error. */
function failing(step: 'open' | 'pull' | 'check', error: unknown): Connector {
  const failAt = (one: typeof step): void => {
    if (one === step) throw error;
  };
  return defineConnector({
    id: 'failing',
    title: 'Fails',
    reads: 'snapshot',
    options: z.object({}),
    streamOptions: z.object({}),
    async open() {
      failAt('open');
      return {
        async *pull() {
          yield { rows: [] };
          failAt('pull');
        },
        async check() {
          failAt('check');
          return { found: 'nothing' };
        },
        async close() {},
      };
    },
  });
}

async function configWith(connector: Connector): Promise<LoadedConfig<Connector>> {
  const config = await loadText(STREAMS);
  return { ...config, sources: config.sources.map((source) => ({ ...source, connector })) };
}

describe('a source that cannot be read', () => {
  it('a source that cannot be read names the stream in the config, with the message, suggestion and cause of the connector', async () => {
    const config = await loadText(STREAMS);
    expect(await failureOfReading(config, 0)).toMatchObject({
      code: 'source.unreadable',
      exitCode: 3,
      path: 'sources[0].streams.default',
      message: expect.stringContaining('products.csv'),
      suggestion: expect.stringMatching(/\.$/),
    });
    expect(await failureOfReading(config, 1)).toMatchObject({ path: 'sources[0].streams.boms' });
    expect(await failureOfChecking(config)).toMatchObject({ path: 'sources[0].streams.default' });

    const cause = new Error('why');
    const refused = await configWith(failing('pull', sourceFault('No.', { cause })));
    expect(await failureOfReading(refused, 0)).toMatchObject({ message: 'No.', suggestion: undefined, cause });
  });

  it('a source that cannot be read names the options where its single stream stands in them', async () => {
    const config = await loadText(SOUND_CONFIG);
    expect(await failureOfReading(config, 0)).toMatchObject({ path: 'sources[0].options' });
  });

  it('a source that cannot even be opened is named', async () => {
    const config = await configWith(failing('open', sourceFault('No.')));
    expect(await failureOfReading(config, 0)).toMatchObject({ message: 'No.', path: 'sources[0]' });
    expect(await failureOfChecking(config)).toMatchObject({ message: 'No.', path: 'sources[0]' });
  });

  it('a source that cannot be read keeps the place that the connector names itself, and any other error as it is', async () => {
    const placed = sourceFault('No.', { path: 'sources[0].options.host' });
    const defect = new TypeError('x is not a function');
    for (const error of [placed, defect]) {
      for (const step of ['open', 'pull'] as const) {
        expect(await failureOfReading(await configWith(failing(step, error)), 0)).toBe(error);
      }
      expect(await failureOfChecking(await configWith(failing('check', error)))).toBe(error);
    }
  });

  it('a stream is opened with the time between two snapshots that its connector gives, and not with anything else', async () => {
    const opened = async (snapshotEveryMs?: () => unknown) => {
      const config = await configWith({ ...failing('check', null), snapshotEveryMs } as Connector);
      const [source] = config.sources;
      if (!source) throw new Error('the config has no source');
      return (await openSource(source, config, createRecordingLog())).streams.map((one) => one.snapshotEveryMs);
    };
    expect(await opened()).toEqual([null, null]);
    expect(await opened(() => null)).toEqual([null, null]);
    expect(await opened(() => 60_000)).toEqual([60_000, 60_000]);
    for (const wrong of [0, Number.NaN, '1d', {}]) {
      await expect(opened(() => wrong)).rejects.toMatchObject({
        code: 'source.unreadable',
        path: 'sources[0].streams.default',
        message: `The connector failing gives ${inspect(wrong)} as the time between two snapshots of the stream default.`,
      });
    }
  });

  it('a snapshot leaves tombstones out, and a read of changes gives them', async () => {
    const place = { line: 1 };
    const given = [
      { fields: { SKU: '1' }, place },
      { fields: { SKU: '2' }, place, isGone: true as const },
    ];
    const config = await configWith({
      ...failing('check', null),
      reads: () => 'changes-and-snapshot',
      open: async () => ({
        async *pull() {
          yield { rows: given, cursor: 1 };
        },
        check: async () => ({ found: 'nothing' }),
        close: async () => undefined,
      }),
    });
    const [source] = config.sources;
    if (!source) throw new Error('the config has no source');
    const { streams } = await openSource(source, config, createRecordingLog());
    const seen: unknown[] = [];
    for (const mode of ['snapshot', 'changes'] as const)
      for await (const { rows } of streams[0]?.pull({ mode, cursor: null }, reading.signal) ?? []) seen.push(rows);
    expect(seen).toEqual([given.slice(0, 1), given]);
  });

  it('a connector is told the key columns of its stream', async () => {
    const keys: unknown[] = [];
    const config = await configWith({
      ...failing('check', null),
      open: async () => ({
        pull: ({ key }) => {
          keys.push(key);
          return (async function* () {})();
        },
        check: async ({ key }) => {
          keys.push(key);
          return { found: 'nothing' };
        },
        close: async () => undefined,
      }),
    });
    const [source] = config.sources;
    if (!source) throw new Error('the config has no source');
    const { streams } = await openSource(source, config, createRecordingLog());
    for (const stream of streams) {
      for await (const _ of stream.pull({ mode: 'snapshot', cursor: null }, reading.signal)) expect(_).toBeNull();
    }
    for (const stream of source.streams)
      await checkStream(source, stream, { config, log: createRecordingLog(), signal: reading.signal });
    expect(keys).toEqual([['SKU'], [], ['SKU'], []]);
  });

  it('a source is not read where its connector does not say what its reads give', async () => {
    const hourly = { ...failing('open', new Error('opened')), reads: () => 'hourly' as never };
    const message = 'The connector failing gives "hourly" as the kind of read of the stream default.';
    const expected = { code: 'source.unreadable', message, path: expect.stringContaining('sources[0]') };
    expect(await failureOfReading(await configWith(hourly), 0)).toMatchObject(expected);
    expect(await failureOfChecking(await configWith(hourly))).toMatchObject(expected);
  });
});
