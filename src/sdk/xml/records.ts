import type { Issue } from '../../domain/issue.ts';
import type { Place } from '../../domain/place.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Page, SourceRow } from '../connector.ts';
import type { OpenFile } from '../files/open-file.ts';
import { createPageBuffer } from '../page-buffer.ts';
import { createFileDecoder, type FileDecoder } from '../text-decoder.ts';
import { encodingOf, HEAD_BYTES } from './encoding.ts';
import { assertXml } from './not-xml.ts';
import { RecordScanner } from './record-scanner.ts';

/** Which elements of a document are records, and how they become values. */
export interface XmlRecordOptions {
  /** The path of the records, for which `isRecordPath` is true: `/BMECAT/T_NEW_CATALOG/ARTICLE`, `//ARTICLE | //PRODUCT`. */
  at: string;
  /** The root elements that the document may have; by default any. */
  roots?: readonly string[];
  /** Whether `g:name` becomes `name` (the default) or stays. */
  prefixes?: 'strip' | 'keep' | undefined;
  /** Elements that are lists even where there is one of them. */
  lists?: readonly string[] | undefined;
  /** Elements that are objects even where they have only text. */
  objects?: readonly string[] | undefined;
  /** Languages in order of preference. Without them, elements in several languages are lists. */
  language?: readonly string[] | undefined;
  /** Attributes that say the language besides `lang` and `xml:lang`. */
  languageAttributes?: readonly string[] | undefined;
  /** Whether white space around text is removed; default false. */
  trim?: boolean | undefined;
  /** The encoding, where the file does not say the right one. */
  encoding?: string | undefined;
  /** Texts of entities that the file does not declare. */
  entities?: Readonly<Record<string, string>> | undefined;
  /** The longest record; default 1 MiB. Characters are counted. */
  maxRecordBytes?: number | undefined;
  /** Values of ancestors that each record gets as `parent`, for which `isValuePath` is true: `../ID`, `/BMECAT/@version`. */
  parent?: Readonly<Record<string, string>> | undefined;
  /** Called with the path of the root element and of each of its children when they begin. It may refuse the document. */
  onOutline?: ((path: string) => void) | undefined;
}

/** One element of a document. */
export interface XmlRecord {
  name: string;
  fields: JsonObject;
  place: Place;
  /** Characters in the file. */
  length: number;
  issues?: Issue[];
}

/**
 * Reads the records of an XML file, in batches that are no larger than a chunk of the file. A record within a record
 * comes before the outer one. Text stays text.
 *
 * The parser is loaded here, so that a program that reads no XML does not load it.
 *
 * @throws a `sourceFault` if the file is no XML or not well-formed, passes a limit, or has no element that holds records
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

/** Reads an XML file as pages of rows. A record becomes one row, or those that `rowsOf` makes of it. */
export async function* readXmlPages(
  file: OpenFile,
  options: XmlRecordOptions,
  signal: AbortSignal,
  rowsOf: (record: XmlRecord) => Iterable<SourceRow> = rowOf,
): AsyncGenerator<Page> {
  const page = createPageBuffer();
  for await (const records of readXmlRecords(file, options, signal)) {
    for (const record of records) {
      for (const row of rowsOf(record)) {
        if (!page.add(row, record.length)) continue;
        signal.throwIfAborted();
        yield page.take({ done: file.position(), total: file.bytes });
      }
    }
  }
  if (!page.empty) yield page.take({ done: file.position(), total: file.bytes });
}

function* rowOf({ fields, place, issues }: XmlRecord): Generator<SourceRow> {
  yield issues === undefined ? { fields, place } : { fields, place, issues };
}

/** The text of a file whose first bytes say what it is and how it is encoded. */
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
