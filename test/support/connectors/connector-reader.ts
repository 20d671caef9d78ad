import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type {
  Connector,
  ConnectorHost,
  FoundColumns,
  JsonValue,
  Page,
  ReadMode,
  SourceRow,
} from '../../../src/sdk/index.ts';
import { removeFolder } from '../machine/remove-folder.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** A host whose config file is in the folder of the setup. */
function connectorHost({ folder, onWarning }: SourceSetup): ConnectorHost {
  const log = { ...SILENT, warn: (_fields: object, message: string) => onWarning?.(message) };
  return { resolvePath: (path) => resolve(folder, path), log };
}

export interface SourceSetup {
  folder: string;
  options?: object | undefined;
  stream: object;
  /** The key columns of the stream. */
  key?: readonly string[];
  onColumns?: (found: FoundColumns) => void;
  mode?: ReadMode;
  cursor?: JsonValue;
  signal?: AbortSignal;
  /** Called with each warning that the connector logs. */
  onWarning?: (message: string) => void;
}

/** Opens a source as the pipeline does and reads one stream of it. */
export async function* readPages(connector: Connector, setup: SourceSetup): AsyncGenerator<Page> {
  const source = await connector.open(connector.options.parse(setup.options ?? {}), connectorHost(setup));
  try {
    const { mode = 'snapshot', cursor = null } = setup;
    yield* source.pull({
      name: 'default',
      key: setup.key ?? [],
      options: connector.streamOptions.parse(setup.stream),
      mode,
      cursor,
      onColumns: setup.onColumns,
      signal: setup.signal ?? new AbortController().signal,
    });
  } finally {
    await source.close();
  }
}

export async function readRows(connector: Connector, setup: SourceSetup): Promise<SourceRow[]> {
  const rows: SourceRow[] = [];
  for await (const page of readPages(connector, setup)) rows.push(...page.rows);
  return rows;
}

export async function probe(connector: Connector, setup: SourceSetup): Promise<string> {
  const source = await connector.open(connector.options.parse(setup.options ?? {}), connectorHost(setup));
  try {
    const { found } = await source.check({
      name: 'default',
      key: setup.key ?? [],
      options: connector.streamOptions.parse(setup.stream),
      signal: setup.signal ?? new AbortController().signal,
    });
    return found;
  } finally {
    await source.close();
  }
}

export interface TemporaryFolder extends AsyncDisposable {
  path: string;
}

/** Makes a folder with these files. Use it with `await using`: the folder is removed at the end of the block. */
export async function temporaryFolder(files: Record<string, string | Uint8Array> = {}): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'dpp-sync-'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
  return { path, [Symbol.asyncDispose]: () => removeFolder(path) };
}

/** The folder of the shipped fixtures of a connector. */
export function fixtureFolder(id: string): string {
  return join(dirname(import.meta.dirname), '../..', 'connectors', id, 'fixtures');
}

/** Returns a value that must be text. */
export function textOf(value: JsonValue | undefined): string {
  if (typeof value !== 'string') throw new Error(`Text was expected, found ${JSON.stringify(value)}.`);
  return value;
}
