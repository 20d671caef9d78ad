import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { connectorLoader } from '../../daemon/sources/load-connector.ts';
import { fault } from '../../domain/faults.ts';
import { comparableName } from '../../domain/identifying-text.ts';
import type { Place } from '../../domain/place.ts';
import { fileReasonOf } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Connector } from '../../sdk/connector.ts';
import { FILE_SOURCE } from '../../sdk/files/file-options.ts';
import { openParts } from '../../sdk/files/open-parts.ts';
import { localVersionOf } from '../../sdk/files/source-file.ts';
import { createTemporaryFiles } from '../../sdk/files/temporary-files.ts';
import type { FoundOption } from './recognise-format.ts';

/** The first records of a file, which its connector has read. */
export interface Sample {
  rows: JsonObject[];
  /** The line or row at which each record begins; 0 if that is not known. */
  lines: number[];
  /** Records that could not be read, which are not among `rows`. */
  broken: number;
  /** The place of each value that was damaged before the export, or that is not valid in the encoding. */
  damaged: string[];
  /** True if the file has no more records. */
  isWhole: boolean;
  /** True if every row has the same columns. */
  isTable: boolean;
}

const ROWS_MAX = 20_000;
const CHARACTERS_MAX = 16 * 1024 * 1024;
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
  const rows: JsonObject[] = [];
  const lines: number[] = [];
  const damaged: string[] = [];
  const isTable = connector.fixedColumns === true;
  let broken = 0;
  let characters = 0;
  try {
    const request = { name: STREAM, options: streamOptions, mode, cursor: null, signal } as const;
    for await (const page of opened.pull(request)) {
      for (const { fields, issues, place } of page.rows) {
        if (rows.length >= rowsMax || characters >= CHARACTERS_MAX)
          return { rows, lines, broken, damaged, isWhole: false, isTable };
        if (issues !== undefined) {
          broken += 1;
          const places = issues.filter(({ code }) => code === 'row.encoding').map(({ field }) => fieldAt(field, place));
          damaged.push(...places);
        } else {
          rows.push(isTable ? withPlainNames(fields) : fields);
          lines.push(place.line ?? 0);
        }
        characters += JSON.stringify(fields).length;
      }
    }
    return { rows, lines, broken, damaged, isWhole: true, isTable };
  } finally {
    await opened.close();
  }
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
  return Object.fromEntries(options.map(({ name, value }) => [name, value]));
}

/** `init` has made the options, so if the connector refuses one, this is a defect. */
function parsed(schema: Connector['options'], value: Record<string, unknown>): unknown {
  return schema.parse(value);
}

/** The beginning of a file, unpacked. */
export interface FileHead {
  /** The absolute path of the file. */
  path: string;
  /** The name of the file. For a packed file, the name of its content. */
  name: string;
  bytes: Buffer;
  /** True if `bytes` is the complete content. */
  isWhole: boolean;
  /** True if the file is a ZIP archive but not a workbook. */
  isArchive: boolean;
}

/** The number of bytes that are read of any file (I9). */
const HEAD_BYTES_MAX = 4 * 1024 * 1024;
/** Every XLSX workbook has this entry, and an archive does not. */
const WORKBOOK_ENTRY = '[Content_Types].xml';

/**
 * Reads the beginning of a file of this machine. Of a ZIP archive it reads the first file.
 *
 * @throws Fault `usage` if the path is not a file, does not exist or is empty, `source.unreadable` if the file cannot
 *   be read or unpacked
 */
export async function readHead(file: string, signal: AbortSignal): Promise<FileHead> {
  const path = resolve(file);
  const stats = await stat(path, { bigint: true }).catch((error: unknown) => {
    throw fault('usage', `${path} cannot be read: ${fileReasonOf(error)}.`, {
      suggestion: 'Check the path and its permissions.',
      cause: error,
    });
  });
  if (!stats.isFile()) {
    throw fault('usage', `${path} is ${stats.isDirectory() ? 'a folder' : 'not a regular file'}.`, {
      suggestion: 'Name one exported file with --from; more files can be added to the config as further streams.',
    });
  }
  if (stats.size === 0n) throw emptyFault(path);
  const found = { path, label: path, name: file, bytes: Number(stats.size), version: localVersionOf(stats) };
  const temporary = createTemporaryFiles(undefined);
  try {
    const limits = FILE_SOURCE.unpacking.parse({});
    for await (const part of openParts(found, { entry: '*', limits, temporary, document: WORKBOOK_ENTRY })) {
      const { bytes, isWhole } = await bytesOf(part.file.chunks(signal));
      if (bytes.length === 0) throw emptyFault(path);
      return { path, name: part.file.name, bytes, isWhole, isArchive: part.file.name !== file };
    }
    throw emptyFault(path);
  } finally {
    await temporary.close();
  }
}

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const read: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    read.push(chunk);
    length += chunk.length;
    if (length > HEAD_BYTES_MAX) return { bytes: Buffer.concat(read).subarray(0, HEAD_BYTES_MAX), isWhole: false };
  }
  return { bytes: Buffer.concat(read), isWhole: true };
}

function emptyFault(path: string): Error {
  return fault('usage', `${path} is empty.`, {
    suggestion: 'Export it again, with at least a few records in it.',
  });
}
