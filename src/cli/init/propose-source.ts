// Proposes mappings for a source that the config describes already: a database, or files that are read from a server. Its passwords are
// where the config has them, so none is on a command line.

import { type ConfiguredSource, openSource, type RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { fault } from '../../domain/faults.ts';
import type { SourceStream } from '../../domain/ports/source.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { checkProposal } from './check-proposal.ts';
import { type Columns, columnsOf } from './columns.ts';
import type { JoinableFile } from './found-file.ts';
import { aloneFile, type Join, joinFiles } from './join-files.ts';
import { type JoinedProduct, joinedProduct } from './joined-preview.ts';
import { type FoundKey, keyColumnsOf } from './key-columns.ts';
import { productOfBomItems, proposeMapping } from './propose-mapping.ts';
import type { ProposedMapping } from './proposed-line.ts';
import { type Sample, sampleOf } from './read-sample.ts';
import { mappingsText, todoOfMapping } from './write-config.ts';

/** What is proposed for one stream. */
export interface ProposedStream {
  stream: string;
  key: string[];
  mapping: ProposedMapping;
  sample: { records: number; broken: number; isWhole: boolean; columns: number };
  todo: string[];
}

/** Mappings for all streams of a source. */
export interface ProposedSource {
  streams: ProposedStream[];
  /** Streams that gave no record that can be read. */
  empty: string[];
  joins: Join[];
  joined: JoinedProduct | null;
  /** The section `mappings` of the source. */
  text: string;
}

interface FoundStream extends JoinableFile {
  stream: string;
  sample: Sample;
}

/** @throws Fault of the source if it cannot be read, `usage` if it gives no record */
export async function proposeForSource(
  source: ConfiguredSource,
  config: RuntimeConfig,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<ProposedSource> {
  const isTable = source.connector.fixedColumns === true;
  const found: FoundStream[] = [];
  const empty: string[] = [];
  const opened = await openSource(source, config, log);
  try {
    for (const stream of opened.streams) {
      const mode = stream.reads === 'changes' ? 'changes' : 'snapshot';
      const sample = await sampleOf(stream.pull({ mode, cursor: null }, signal), { isTable });
      if (sample.rows.length === 0) empty.push(stream.name);
      else found.push(foundStream(stream, sample));
    }
  } finally {
    await opened.close();
  }
  if (found.length === 0) {
    throw fault('usage', `The source ${source.id} gives no record that can be read.`, {
      suggestion: `See what it gives: dpp-sync preview ${source.id}`,
    });
  }
  const { files, joins } = found.length === 1 ? { files: found.map(aloneFile), joins: [] } : joinFiles(found);
  const checked = await Promise.all(
    files.map(async (one) => {
      const sampled = { source: source.id, stream: one.stream, rows: one.sample.rows };
      return { ...one, sampled, mapping: await checkProposal(one.mapping, sampled) };
    }),
  );
  return {
    streams: checked.map(({ stream, key, mapping, sample, found: { columns } }) => ({
      stream,
      key: key?.columns.map(({ label }) => label) ?? [],
      mapping,
      sample: {
        records: sample.rows.length,
        broken: sample.broken,
        isWhole: sample.isWhole,
        columns: columns.length,
      },
      todo: todoOfMapping(mapping),
    })),
    empty,
    joins,
    joined: await joinedProduct(checked),
    text: mappingsText(checked.map((one) => ({ ...one, columns: one.found, options: [], mappings: [one.mapping] }))),
  };
}

function foundStream({ name, key: given }: SourceStream, sample: Sample): FoundStream {
  const found = columnsOf(sample.rows);
  const { columns, repeats } = found;
  const owner = productOfBomItems(columns, name);
  const key = givenKey(given, found) ?? keyColumnsOf(columns, { repeats, isWhole: sample.isWhole, owner });
  const mapping = proposeMapping(columns, key, name);
  return { name, stream: name, isWhole: sample.isWhole, hasKey: given.length > 0, found, key, mapping, sample };
}

/** The key that the config gives the stream; null if it gives none, or if a column of it is not in the sample. */
function givenKey(names: readonly string[], { columns }: Columns): FoundKey | null {
  const found = names.flatMap((name) => columns.find(({ label }) => label === name) ?? []);
  if (names.length === 0 || found.length < names.length) return null;
  return { columns: found, reason: 'the key of the stream in the config', isFlawed: false, others: [] };
}
