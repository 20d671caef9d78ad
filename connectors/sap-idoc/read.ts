import {
  type FileRequest,
  type Issue,
  type JsonObject,
  type OpenFile,
  type Page,
  readXmlPages,
  type SourceRow,
  sourceFault,
  type XmlRecord,
  xmlObjectOf,
  xmlTextOf,
} from '../../src/sdk/index.ts';
import type { Options, StreamOptions } from './schema.ts';
import { CONTROL, type FoundSegment, fieldAround, findSegments, segmentOf } from './segments.ts';

/** How many numbers of IDocs of one file are remembered. A usual file of one night has thousands. */
const IDOCS_MAX = 1_000_000;

/** Reads the rows of one file. */
export function readIdocs(
  file: OpenFile,
  { options, stream, signal }: FileRequest<Options, StreamOptions>,
): AsyncGenerator<Page> {
  const { encoding, entities, maxRecordBytes } = options;
  const numbers = new Set<string>();

  const rowsOf = function* (record: XmlRecord): Generator<SourceRow> {
    const idoc = record.fields;
    const control = xmlObjectOf(idoc[CONTROL]);
    const number = xmlTextOf(control['DOCNUM']);
    const place = { ...record.place, path: `${record.place.path ?? ''}[DOCNUM=${number}]/${stream.segment}` };
    if (record.issues !== undefined) {
      yield { fields: idoc, place, issues: record.issues };
      return;
    }
    if (options.messages.length > 0 && !options.messages.includes(xmlTextOf(control['MESTYP']))) return;
    // If a middleware sends an IDoc again, it has the same number, so it is skipped.
    if (number !== '' && numbers.has(number)) return;
    if (number !== '') numbers.add(number);
    if (numbers.size > IDOCS_MAX) throw tooMany(file);
    const body = segmentOf(idoc);
    for (const found of findSegments(body, stream.segment)) yield { ...rowOf(found, body, stream), place };
  };

  return readXmlPages(file, { at: '//IDOC', trim: true, encoding, entities, maxRecordBytes }, signal, rowsOf);
}

function rowOf(found: FoundSegment, idoc: JsonObject, { fields, parent }: StreamOptions): Omit<SourceRow, 'place'> {
  const around = Object.entries(parent).map(([member, path]) => [member, fieldAround(path, found, idoc)]);
  const row = {
    ...Object.fromEntries(fields.map((name) => [name, ''])),
    ...Object.fromEntries(around),
    ...found.fields,
  };
  const taken = Object.keys(parent).filter((name) => Object.hasOwn(found.fields, name));
  return taken.length === 0 ? { fields: row } : { fields: row, issues: taken.map(takenIssue) };
}

function takenIssue(name: string): Issue {
  return {
    code: 'row.duplicate',
    message: `The segment has a field ${name}, but \`parent\` gives the same name to a value from outside the segment.`,
    field: name,
    cure: 'In `parent`, choose another name for the value from outside.',
  };
}

function tooMany(file: OpenFile): Error {
  return sourceFault(`${file.name} has more than ${IDOCS_MAX} IDocs.`, {
    suggestion: 'Write the IDocs to several files.',
  });
}
