import type { Issue } from '../domain/issue.ts';
import type { Item } from '../domain/item.ts';
import type { Place } from '../domain/place.ts';
import { identityOf } from '../domain/record.ts';
import type { JsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/logging.ts';
import { createColumnCheck, neededColumns } from '../pipeline/column-check.ts';
import { incomingRecord } from '../pipeline/incoming-record.ts';
import { readLookups } from './preview-lookups.ts';
import { createMappers } from './sources/mappers.ts';
import { type ConfiguredSource, openSource, type RuntimeConfig } from './sources/open-source.ts';

/** A record and the result of mapping it. */
export interface PreviewedRecord {
  place: Place;
  /** The values of the stream's key columns; null where it has none or they are empty. */
  key: string | null;
  /** Without the columns that are never stored. */
  fields: JsonObject;
  status: 'mapped' | 'excluded' | 'quarantined';
  items: Item[];
  issues: Issue[];
}

/**
 * Reads and maps the first records of a stream as a sync would, and stores nothing. Only the ledger knows whether another record makes
 * the same item, so the preview does not show that.
 *
 * @throws Fault when the mappings are wrong or the source cannot be read
 */
export async function* previewStream(
  source: ConfiguredSource,
  config: RuntimeConfig,
  options: { stream: string; limit: number; log: Logger; signal: AbortSignal },
): AsyncGenerator<PreviewedRecord> {
  const mapper = await createMappers({ sources: [source], baseDir: config.folder, profile: config.profile }).refresh(
    source.id,
  );
  const find = await readLookups(mapper.lookups ?? [], config, options);
  const reader = await openSource(source, config, options.log);
  try {
    const stream = reader.streams.find(({ name }) => name === options.stream);
    if (!stream || options.limit === 0) return;
    const mode = stream.reads === 'changes' ? 'changes' : 'snapshot';
    const omitted = new Set(source.omit);
    const configured = source.streams.find(({ name }) => name === stream.name);
    const isTable = stream.fixedColumns === true && configured !== undefined;
    const checkColumns = createColumnCheck(isTable ? neededColumns(source, configured, config.sources) : []);
    let shown = 0;
    for await (const page of stream.pull({ mode, cursor: null }, options.signal)) {
      checkColumns(page.rows);
      for (const row of page.rows) {
        const { raw, place, issues } = incomingRecord(row, stream.key, omitted);
        const fields = JSON.parse(raw) as JsonObject;
        const result = mapper.map({ source: source.id, stream: stream.name, fields, place, issues }, find);
        yield {
          place,
          key: stream.key.length === 0 ? null : identityOf(row.fields, stream.key),
          fields,
          status: result.status,
          items: result.status === 'excluded' ? [] : (result.items ?? []).map(withoutMapping),
          issues: result.status === 'quarantined' ? result.issues : [],
        };
        shown += 1;
        if (shown === options.limit) return;
      }
    }
  } finally {
    await reader.close();
  }
}

function withoutMapping({ kind, key, payload, refs }: Item): Item {
  return { kind, key, payload, refs };
}
