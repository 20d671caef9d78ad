import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { casesFileOf } from '../../config/cases.ts';
import { openPreview, type PreviewedRecord } from '../../daemon/preview/preview.ts';
import type { ConfiguredSource, RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { RAW_FIELD } from '../../domain/record.ts';
import type { ReadEntries } from '../../pipeline/map-records.ts';
import type { CommandContext } from '../context.ts';
import { nameOfRow, writeCase } from './write-case.ts';

/**
 * Writes the file of cases beside a new config, with one case from a row of a source. A file that is there stays as it is.
 *
 * @returns the absolute path of the file; null if nothing was written
 */
export async function writeFirstCase(
  source: ConfiguredSource,
  config: RuntimeConfig,
  context: CommandContext,
): Promise<string | null> {
  const { configFile, secrets } = context;
  const file = casesFileOf(configFile);
  if (existsSync(file)) return null;
  const preview = await openPreview(source, config, { log: await context.log(), signal: context.interruption() });
  try {
    const found = await firstRow(source, preview);
    if (found === null) return null;
    const { stream, record } = found;
    const row = { source: source.id, stream, row: record.fields };
    const name = nameOfRow(row, record.key, config);
    const read: ReadEntries = async (keys) =>
      keys.map((key) => ({ ...key, ...(preview.find(key) ?? { values: [], isRead: false }) }));
    await writeCase(row, { file, name, config, secrets, read });
    return resolve(file);
  } finally {
    await preview.close();
  }
}

interface FoundRow {
  stream: string;
  record: PreviewedRecord;
}

/** The first row that becomes items, among the first rows of each stream. If there is none, the first row that could be read. */
async function firstRow(
  { mappings }: ConfiguredSource,
  preview: Awaited<ReturnType<typeof openPreview>>,
): Promise<FoundRow | null> {
  let readable: FoundRow | null = null;
  for (const stream of new Set(mappings.map((mapping) => mapping.stream))) {
    for await (const { records } of preview.read(stream)) {
      const mapped = records.find(({ status }) => status === 'mapped');
      if (mapped !== undefined) return { stream, record: mapped };
      const record = records.find(({ fields }) => !Object.hasOwn(fields, RAW_FIELD));
      if (record !== undefined) readable ??= { stream, record };
      break;
    }
  }
  return readable;
}
