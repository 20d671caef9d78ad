import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { counted } from '../../lib/text/amounts.ts';
import { type Column, columnsOf } from './columns.ts';
import { isNamed } from './field-names.ts';
import { readSample, type Sample } from './read-sample.ts';
import { recogniseFill } from './recognise-fill.ts';
import type { FoundOption, Recognised } from './recognise-format.ts';
import { type FoundTree, recogniseTree } from './recognise-tree.ts';
import { areAmounts, areCodes } from './value-checks.ts';

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

// Recognises white space around the codes of a table, with which a bill indents its parts.

/**
 * The option `trim` of delimited text. With white space, the same part in two depths of a bill would be two parts.
 *
 * @returns null if no code has white space around it
 */
function recognisePadding(columns: readonly Column[]): FoundOption | null {
  const padded = columns.filter(({ values }) => areCodes(values)).find((column) => paddedOf(column).length > 0);
  if (padded === undefined) return null;
  const values = paddedOf(padded);
  const [first = ''] = values;
  const reason = `${counted(values.length, 'value')} of ${padded.label} with white space around, such as ${JSON.stringify(first)}`;
  return { name: 'trim', value: true, reason };
}

function paddedOf({ given }: Column): string[] {
  return given.map(String).filter((value) => value !== value.trim());
}

// Recognises what the merged cells of a workbook mean.

/**
 * The option `merged: repeat`, if the merged cells of a sheet give several rows a text that they have in common, such as their assembly.
 * A title that is merged over columns would fill each of them, and a quantity that is merged over rows would count in each: then
 * a person has to decide, so the option is off.
 *
 * @param first the rows, with the value of a merged cell only in the upper left one
 * @param repeated the same rows, with the value in each cell
 * @returns null if the sheet has no merged cells below its header
 */
function recogniseMerged(first: Sample, repeated: Sample): FoundOption | null {
  const before = new Map(first.lines.map((line, at) => [line, first.rows[at] ?? {}]));
  const gained = new Map<string, JsonValue[]>();
  let sideways = 0;
  for (const [at, row] of repeated.rows.entries()) {
    const plain = before.get(repeated.lines[at] ?? 0) ?? {};
    const above = repeated.rows[at - 1];
    for (const [name, value] of Object.entries(row)) {
      if (isEmpty(value) || !isEmpty(plain[name])) continue;
      gained.set(name, [...(gained.get(name) ?? []), value]);
      if (above?.[name] !== value || repeated.lines[at - 1] !== (repeated.lines[at] ?? 0) - 1) sideways += 1;
    }
  }
  if (gained.size === 0) return null;
  const columns = [...gained.keys()].join(', ');
  const numbers = [...gained].filter(([name, values]) => countsUp(name, values)).map(([name]) => name);
  const cells = [...gained.values()].flat().length;
  const found = { name: 'merged', value: 'repeat' };
  if (sideways === 0 && numbers.length === 0)
    return {
      ...found,
      reason: `${counted(cells, 'cell', 'cells')} of ${columns} merged with the cell above, whose value each has`,
    };
  const doubt =
    sideways > 0
      ? 'some are merged with a cell beside them, as titles are, and would fill columns that are not theirs'
      : `${numbers.join(', ')} would count in each row`;
  const reason = `${counted(cells, 'merged cell')} of ${columns}: ${doubt}. If each row has to have the value, use this line; otherwise delete it`;
  return { ...found, reason, isTodo: true, isOff: true };
}

function isEmpty(value: JsonObject[string] | undefined): boolean {
  return value === undefined || value === null || value === '';
}

/** True for quantities, weights and prices. A number of an article may have digits only too, and does not count. */
function countsUp(name: string, values: readonly JsonValue[]): boolean {
  return isNamed(name, 'quantity') || areAmounts(values.map(String));
}
