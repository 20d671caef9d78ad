import { writeFile } from 'node:fs/promises';
import { fault } from '../../domain/faults.ts';
import type { SourceRow } from '../../domain/ports/source.ts';
import { Fault } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Connector } from '../../sdk/connector.ts';
import { createTemporaryFiles } from '../../sdk/files/temporary-files.ts';
import { createFileDecoder } from '../../sdk/text-decoder.ts';
import { connectorLoader } from '../sources/load-connector.ts';
import { type ConfiguredSource, dialectOf, type StreamDialect } from '../sources/open-source.ts';

const DELIMITERS = [';', ',', '\t', '|'];
/** The most rows that an upload may have. */
const UPLOAD_ROWS_MAX = 20_000;
/** A file with such a name is a workbook, or is refused: its bytes are not text. */
const WORKBOOK_NAME = /\.xls[xmb]?$/i;
/** The name of the copy that the connector reads. It stands in messages, where the name of the upload replaces it. */
const COPY = 'copy-of-the-upload';
/** The most bytes that a workbook may unpack to. */
const UNPACKED_BYTES_MAX = 256_000_000;

/**
 * Reads the rows of an uploaded file with the connector for its format: a workbook (XLSX), or CSV in the dialect of the
 * stream. Spreadsheets save CSV with the delimiter of their country, so the reader uses the delimiter that splits the
 * header into the key columns.
 *
 * @throws Fault `usage` for a file that cannot be read, or has too many rows
 */
export async function readUpload(
  file: { name: string; bytes: Uint8Array },
  { source, stream, log, signal }: { source: ConfiguredSource; stream: string; log: Logger; signal: AbortSignal },
): Promise<SourceRow[]> {
  const temporary = createTemporaryFiles(undefined);
  try {
    const copy = await temporary.create(COPY);
    await writeFile(copy.path, file.bytes);
    const { connector, options } = await formatOf(file, source, stream);
    const streamOptions = connector.streamOptions.parse({ path: copy.path });
    try {
      const opened = await connector.open(connector.options.parse(options), { resolvePath: (path) => path, log });
      try {
        const rows: SourceRow[] = [];
        const target = { name: stream, options: streamOptions, key: [], signal };
        for await (const page of opened.pull({ ...target, mode: 'snapshot', cursor: null })) {
          for (const row of page.rows) rows.push({ ...row, place: { ...row.place, file: file.name } });
          if (rows.length > UPLOAD_ROWS_MAX) throw tooMany();
        }
        return rows;
      } finally {
        await opened.close();
      }
    } catch (error) {
      throw isUnreadable(error) ? unreadable(error, { name: file.name, copy: copy.path }) : error;
    }
  } finally {
    await temporary.close();
  }
}

const isUnreadable = (error: unknown): error is Fault => error instanceof Fault && error.code === 'source.unreadable';

/**
 * The connector reports an unreadable file as a fault of the source, with the name of the copy. Here a person has uploaded the
 * file, so the fault names the upload.
 */
function unreadable({ message }: Fault, { name, copy }: { name: string; copy: string }): Error {
  const named = message.replaceAll(copy, () => name).replaceAll(COPY, () => name);
  const isNamedFirst = named.startsWith(`${name} `) || named.startsWith(`${name}/`);
  return fault('usage', isNamedFirst ? named : `${name} cannot be read: ${named}`, {
    suggestion: 'Save the file again, as XLSX without a password or as CSV, and upload it.',
  });
}

async function formatOf(
  { name, bytes }: { name: string; bytes: Uint8Array },
  source: ConfiguredSource,
  stream: string,
): Promise<{ connector: Connector; options: unknown }> {
  const isWorkbook = WORKBOOK_NAME.test(name) || (bytes[0] === 0x50 && bytes[1] === 0x4b);
  const id = isWorkbook ? 'xlsx' : 'csv';
  const loaded = await connectorLoader.load(id, '.');
  if (loaded === null || !loaded.ok) throw new Error(`There is no connector ${id}.`);
  const connector = loaded.value;
  if (isWorkbook) return { connector, options: { maxUnpackedBytes: UNPACKED_BYTES_MAX } };
  const own = dialectOf(source, stream);
  const dialect = isUtf8(bytes, own.encoding) ? { ...own, encoding: 'utf-8' } : own;
  const key = source.streams.find(({ name }) => name === stream)?.key ?? [];
  return { connector, options: { ...dialect, delimiter: delimiterOf(bytes, dialect, key) } };
}

/** Encodings in which each character has several bytes, one of which is zero in most texts. */
const WIDE = /^(?:utf-?(?:16|32)|ucs-?[24])/i;

/**
 * True for text in UTF-8, unless it is ASCII, which most encodings include. Such a file is read as UTF-8, whatever encoding the
 * stream has: a spreadsheet may open an export in another encoding and save it as UTF-8. Text in another encoding is hardly
 * ever valid UTF-8.
 */
function isUtf8(bytes: Uint8Array, encoding: string): boolean {
  // Text in UTF-16 has zero bytes, and may be valid UTF-8.
  if (bytes.includes(0)) return false;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).length < bytes.length || WIDE.test(encoding);
  } catch {
    return false;
  }
}

function delimiterOf(bytes: Uint8Array, { delimiter, quote, encoding }: StreamDialect, key: readonly string[]): string {
  const head = Buffer.from(bytes.subarray(0, 64 * 1024));
  const [line = ''] = createFileDecoder(encoding, head)
    .write(head)
    .split(/\r?\n|\r/, 1);
  const names = (separator: string) => line.split(separator).map((name) => name.replaceAll(quote, '').trim());
  return [delimiter, ...DELIMITERS].find((one) => key.every((column) => names(one).includes(column))) ?? delimiter;
}

function tooMany(): Error {
  return fault('usage', `The file has more than ${UPLOAD_ROWS_MAX} rows.`, {
    suggestion: 'Upload only the rows that you have corrected. Put a whole export where the source reads its files.',
  });
}
