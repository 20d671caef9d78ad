import { connectorLoader } from '../../daemon/sources/load-connector.ts';
import { formatPlace, type Place } from '../../domain/issue.ts';
import { comparableName } from '../../domain/natural-key.ts';
import type { Page } from '../../domain/ports/source.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Connector } from '../../sdk/connector.ts';
import type { FoundOption } from './recognise-format.ts';

/** The first records of a file, which its connector has read. */
export interface Sample {
  rows: JsonObject[];
  /** The line or row at which each record begins; 0 if that is not known. */
  lines: number[];
  /** The file of each record; empty text if that is not known. */
  files: string[];
  /** Records that could not be read, which are not among `rows`. */
  broken: number;
  /** What is wrong with the first of them. */
  wrong: string[];
  /** The place of each value that was damaged before the export, or that is not valid in the encoding. */
  damaged: string[];
  /** True if the file has no more records. */
  isWhole: boolean;
  /** True if every row has the same columns. */
  isTable: boolean;
}

const ROWS_MAX = 20_000;
const CHARACTERS_MAX = 16 * 1024 * 1024;
/** More broken records are only counted. */
const WRONG_MAX = 5;
const STREAM = 'sample';

/**
 * Reads the first records of a file with a connector, so that the sample is what a run will read.
 *
 * @throws Fault `source.unreadable` if the file cannot be read
 */
export async function readSample(
  path: string,
  { connector: id, options, stream }: { connector: string; options: FoundOption[]; stream: FoundOption[] },
  { log, signal, rowsMax = ROWS_MAX }: { log: Logger; signal: AbortSignal; rowsMax?: number },
): Promise<Sample> {
  const loaded = await connectorLoader.load(id, '.');
  if (loaded === null || !loaded.ok) throw new Error(`There is no connector ${id}.`);
  const connector: Connector = loaded.value;
  const sourceOptions = parsed(connector.options, valuesOf(options));
  const streamOptions = parsed(connector.streamOptions, { path, ...valuesOf(stream) });
  const reads = connector.reads(sourceOptions, streamOptions);
  const mode = reads === 'changes' ? 'changes' : 'snapshot';
  const opened = await connector.open(sourceOptions, { resolvePath: (given) => given, log });
  try {
    const request = { name: STREAM, options: streamOptions, key: [], mode, cursor: null, signal } as const;
    return await sampleOf(opened.pull(request), { isTable: connector.fixedColumns === true, rowsMax });
  } finally {
    await opened.close();
  }
}

/** Takes the first records of a read. */
export async function sampleOf(
  pages: AsyncIterable<Pick<Page, 'rows'>>,
  { isTable, rowsMax = ROWS_MAX }: { isTable: boolean; rowsMax?: number },
): Promise<Sample> {
  const rows: JsonObject[] = [];
  const lines: number[] = [];
  const files: string[] = [];
  const wrong: string[] = [];
  const damaged: string[] = [];
  let broken = 0;
  let characters = 0;
  for await (const page of pages) {
    for (const { fields, issues, place, isGone } of page.rows) {
      if (isGone === true) continue;
      if (rows.length >= rowsMax || characters >= CHARACTERS_MAX)
        return { rows, lines, files, broken, wrong, damaged, isWhole: false, isTable };
      if (issues !== undefined) {
        broken += 1;
        const [first] = issues;
        if (first !== undefined && wrong.length < WRONG_MAX) wrong.push(`${formatPlace(place)}: ${first.message}`);
        const places = issues.filter(({ code }) => code === 'row.encoding').map(({ field }) => fieldAt(field, place));
        damaged.push(...places);
      } else {
        rows.push(isTable ? withPlainNames(fields) : fields);
        lines.push(place.line ?? 0);
        files.push(place.file ?? '');
      }
      characters += JSON.stringify(fields).length;
    }
  }
  return { rows, lines, files, broken, wrong, damaged, isWhole: true, isTable };
}

function fieldAt(field: string | undefined, { file, line, path }: Place): string {
  const where = [file, line === undefined ? path : `line ${line}`, field === undefined ? undefined : `column ${field}`];
  return where.filter((part) => part !== undefined).join(', ');
}

/** The fields with names that a person can see and type. A read compares the names of a table in this form. */
function withPlainNames(fields: JsonObject): JsonObject {
  const names = Object.keys(fields);
  const plain = names.map(comparableName);
  if (new Set(plain).size < names.length) return fields;
  return Object.fromEntries(Object.values(fields).map((value, at) => [plain[at] ?? '', value]));
}

function valuesOf(options: readonly FoundOption[]): Record<string, unknown> {
  return Object.fromEntries(options.flatMap(({ name, value, isOff }) => (isOff === true ? [] : [[name, value]])));
}

/** `init` has made the options, so if the connector refuses one, this is a defect. */
function parsed(schema: Connector['options'], value: Record<string, unknown>): unknown {
  return schema.parse(value);
}
