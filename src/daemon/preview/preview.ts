import type { Issue } from '../../domain/issue.ts';
import type { Item } from '../../domain/item.ts';
import type { Place } from '../../domain/place.ts';
import type { SourceRow, SourceStream } from '../../domain/ports/source.ts';
import { identityOf } from '../../domain/record.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { incomingRecord } from '../../pipeline/incoming-record.ts';
import { createMappers } from '../sources/mappers.ts';
import { type ConfiguredSource, openSource, type RuntimeConfig } from '../sources/open-source.ts';
import { readLookups } from './preview-lookups.ts';

/** A record and the result of mapping it. */
export interface PreviewedRecord {
  place: Place;
  /** The values of the stream's key columns; null if it has none or they are empty. */
  key: string | null;
  /** The fields without the columns that are never stored. */
  fields: JsonObject;
  status: 'mapped' | 'excluded' | 'quarantined';
  items: Item[];
  issues: Issue[];
}

/** A page of a stream with the items of its mapping. Its size is limited. */
export interface PreviewedPage {
  records: PreviewedRecord[];
  /** How much was read, if the connector knows: bytes of files, rows of tables. */
  progress: { done: number; total: number } | null;
}

/** A source that was opened for a preview. */
export interface Preview {
  /** Reads and maps a stream from its beginning, a page at a time. */
  read(stream: string): AsyncGenerator<PreviewedPage>;
  close(): Promise<void>;
}

/**
 * Opens a source to read and map its records as a sync would. Nothing is stored. Only the ledger knows whether another
 * record makes the same item, so the preview does not show that.
 *
 * @throws Fault when the mappings are wrong or the source cannot be read
 */
export async function openPreview(
  source: ConfiguredSource,
  config: RuntimeConfig,
  options: { log: Logger; signal: AbortSignal },
): Promise<Preview> {
  const mappers = createMappers({ sources: () => [source], baseDir: config.folder, profile: config.profile });
  const mapper = await mappers.refresh(source.id);
  const find = await readLookups(mapper.lookups ?? [], config, options);
  const reader = await openSource(source, config, options.log);
  const omitted = new Set(source.omit);

  function previewOf(row: SourceRow, stream: SourceStream): PreviewedRecord {
    const { raw, place, issues } = incomingRecord(row, stream.key, omitted);
    const fields = JSON.parse(raw) as JsonObject;
    const result = mapper.map({ source: source.id, stream: stream.name, fields, place, issues }, find);
    return {
      place,
      key: stream.key.length === 0 ? null : identityOf(row.fields, stream.key),
      fields,
      status: result.status,
      items: result.status === 'excluded' ? [] : (result.items ?? []).map(withoutMapping),
      issues: result.status === 'quarantined' ? result.issues : [],
    };
  }

  return {
    async *read(name) {
      const stream = reader.streams.find((one) => one.name === name);
      if (!stream) return;
      const mode = stream.reads === 'changes' ? 'changes' : 'snapshot';
      for await (const { rows, progress = null } of stream.pull({ mode, cursor: null }, options.signal)) {
        yield { records: rows.map((row) => previewOf(row, stream)), progress };
      }
    },
    close: () => reader.close(),
  };
}

function withoutMapping({ kind, key, payload, refs }: Item): Item {
  return { kind, key, payload, refs };
}
