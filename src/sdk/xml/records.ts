import { type Page, type SourceRow, sourceFault } from '../connector.ts';
import type { OpenFile } from '../files/open-file.ts';
import { createPageBuffer } from '../page-buffer.ts';
import { createFileDecoder, type FileDecoder, isEncoding } from '../text-decoder.ts';
import { assertXml } from './entities.ts';
import { RecordScanner } from './record-scanner.ts';
import type { XmlRecord, XmlRecordOptions } from './xml-record.ts';

/**
 * Reads the records of an XML file, in batches that are no larger than a chunk of the file. A record within a record
 * comes before the outer record. Text stays text.
 *
 * The parser is loaded here, so that a program that reads no XML does not load it.
 *
 * @throws a `sourceFault` if the file is not XML or not well-formed, passes a limit, or has no element that holds
 *   records
 */
export async function* readXmlRecords(
  file: OpenFile,
  options: XmlRecordOptions,
  signal: AbortSignal,
): AsyncGenerator<XmlRecord[]> {
  const { SaxesParser } = await import('saxes');
  const scanner = new RecordScanner(new SaxesParser({ position: false }), file.name, options);
  for await (const text of readText(file, options.encoding, signal)) {
    scanner.feed(text);
    const records = scanner.take();
    if (records.length > 0) yield records;
  }
  scanner.end();
  const rest = scanner.take();
  if (rest.length > 0) yield rest;
}

/** Reads an XML file as pages of rows. A record becomes one row, or the rows that `rowsOf` makes from it. */
export async function* readXmlPages(
  file: OpenFile,
  options: XmlRecordOptions,
  signal: AbortSignal,
  rowsOf?: (record: XmlRecord) => Iterable<SourceRow>,
): AsyncGenerator<Page> {
  const page = createPageBuffer();
  for await (const records of readXmlRecords(file, options, signal)) {
    for (const record of records) {
      for (const row of rowsOf === undefined ? [rowOf(record)] : withPlaces([...rowsOf(record)])) {
        if (!page.add(row, record.length)) continue;
        signal.throwIfAborted();
        yield page.take({ done: file.position(), total: file.bytes });
      }
    }
  }
  if (!page.empty) yield page.take({ done: file.position(), total: file.bytes });
}

/** Adds a number to the places of the rows of one record, because all of them begin at the same line. */
function withPlaces(rows: SourceRow[]): SourceRow[] {
  if (rows.length < 2) return rows;
  return rows.map((row, at) => ({ ...row, place: { ...row.place, path: `${row.place.path ?? ''}/row[${at + 1}]` } }));
}

function rowOf({ fields, place, issues }: XmlRecord): SourceRow {
  return issues === undefined ? { fields, place } : { fields, place, issues };
}

/** Reads the text of a file. Its first bytes show whether it is XML and which encoding it has. */
async function* readText(file: OpenFile, encoding: string | undefined, signal: AbortSignal): AsyncGenerator<string> {
  const head: Buffer[] = [];
  let headBytes = 0;
  let decoder: FileDecoder | undefined;
  for await (const chunk of file.chunks(signal)) {
    if (decoder !== undefined) {
      yield decoder.write(chunk);
      continue;
    }
    head.push(chunk);
    headBytes += chunk.length;
    if (headBytes < HEAD_BYTES) continue;
    const first = beginText(Buffer.concat(head), file.name, encoding);
    decoder = first.decoder;
    yield first.text;
  }
  if (decoder === undefined) {
    const whole = beginText(Buffer.concat(head), file.name, encoding);
    yield whole.text + whole.decoder.end();
  } else yield decoder.end();
}

function beginText(head: Buffer, file: string, encoding: string | undefined): { text: string; decoder: FileDecoder } {
  const decoder = createFileDecoder(encodingOf(head, file, encoding), head);
  const text = decoder.write(head);
  assertXml(head, text, file);
  return { text, decoder };
}

/** The declaration is searched for in this many bytes. */
const HEAD_BYTES = 1_024;

/**
 * The encoding of an XML file. The first of these that exists decides: the byte order mark or the wide bytes of `<?`,
 * the encoding in the config, the declaration in the file. Without all of them it is UTF-8.
 *
 * @throws a `sourceFault` if the file declares an encoding that is not known
 */
function encodingOf(head: Buffer, file: string, configured: string | undefined): string {
  const wide = wideEncodingOf(head);
  if (wide !== undefined) return wide;
  if (configured !== undefined) return configured;
  const declaration = /^(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(
    head.subarray(0, HEAD_BYTES).toString('latin1'),
  );
  const declared: string | undefined = declaration?.[1];
  // Some programs write "utf-16" into text that they save as UTF-8: if it were UTF-16, its `<?xml` could not be read
  // here.
  if (declared === undefined || /^(utf-?16|ucs-?2|utf-?32)/i.test(declared)) return 'utf-8';
  if (isEncoding(declared)) return declared;
  throw sourceFault(`${file} declares the encoding ${declared}, which is not known.`, {
    suggestion: 'Set `encoding` to the encoding of the file, such as windows-1252.',
  });
}

/** Bytes that only UTF-16 begins with. */
function wideEncodingOf(head: Buffer): string | undefined {
  const [first, second, third, fourth] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0x3c && second === 0 && third !== 0 && fourth === 0) return 'utf-16le';
  if (first === 0 && second === 0x3c && third === 0 && fourth !== 0) return 'utf-16be';
  return undefined;
}
