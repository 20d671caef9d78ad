import type { Logger } from '../../lib/logging/logging.ts';
import { columnsOf } from './columns.ts';
import { readSample, type Sample } from './read-sample.ts';
import { recogniseFill } from './recognise-fill.ts';
import type { FoundOption, Recognised } from './recognise-format.ts';
import { recogniseMerged } from './recognise-merged.ts';
import { recognisePadding } from './recognise-padding.ts';
import { type FoundTree, recogniseTree } from './recognise-tree.ts';

/**
 * Reads the first records of a file, and finds the options with which rows of a table take values from rows above them. The sample is
 * read again with each option, so that it is what a run will read. The options are added to those of the stream.
 */
export async function readTable(
  path: string,
  recognised: Recognised,
  context: { log: Logger; signal: AbortSignal },
): Promise<{ sample: Sample; tree: FoundTree | null }> {
  const { stream, connector } = recognised;
  const read = (): Promise<Sample> => readSample(path, recognised, context);
  let sample = await read();
  if (!sample.isTable || sample.rows.length === 0) return { sample, tree: null };
  const use = async (option: FoundOption | null): Promise<void> => {
    if (option === null) return;
    stream.push(option);
    if (option.isOff !== true) sample = await read();
  };
  if (connector === 'xlsx') {
    const repeat: FoundOption = { name: 'merged', value: 'repeat', reason: '' };
    const repeated = await readSample(path, { ...recognised, stream: [...stream, repeat] }, context);
    await use(recogniseMerged(sample, repeated));
  }
  if (connector === 'csv') await use(recognisePadding(columnsOf(sample.rows).columns));
  await use(recogniseFill(columnsOf(sample.rows).columns));
  const tree = recogniseTree(columnsOf(sample.rows).columns, sample.rows);
  await use(tree?.option ?? null);
  return { sample, tree };
}
