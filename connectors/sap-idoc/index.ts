import {
  CHANGES_BY_DEFAULT,
  defineFileConnector,
  type FileRequest,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type OpenFile,
  type OwnIssue,
  type Page,
  readXmlPages,
  type SourceRow,
  XML_FILE_OPTIONS,
  type XmlRecord,
  xmlObjectOf,
  xmlTextOf,
  z,
} from '../../src/sdk/index.ts';

const Name = z.string().min(1);

/** The source's `options`. */
const OPTIONS = {
  ...XML_FILE_OPTIONS,
  maxRecordBytes: XML_FILE_OPTIONS.maxRecordBytes
    .default(16 * 1024 * 1024)
    .describe('The longest IDoc that is accepted. Characters are counted.'),
  messages: z
    .array(Name)
    .default([])
    .describe('The message types (MESTYP) that are read, such as `[MATMAS]`. By default all types are read.'),
};
type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. */
const STREAM_OPTIONS = {
  ...CHANGES_BY_DEFAULT,
  segment: Name.describe('The segment whose occurrences are the rows, such as `E1MARAM`, `E1MARCM` or `E1STPOM`.'),
  fields: z
    .array(Name)
    .default([])
    .describe(
      'Fields that each row has, such as `[HERKL, NTGEW]`. SAP leaves out empty fields; a field of this list is then empty text.',
    ),
  parent: z
    .record(Name, z.string().regex(/^[^/]+(\/[^/]+)+$/, 'Write a path such as E1STZUM/E1MASTM/MATNR.'))
    .default({})
    .describe(
      'Fields of the segments around the row, by the names that they get in the row: `{ MATNR: E1STZUM/E1MASTM/MATNR }`. If SAP has left out a field, its value is empty text.',
    ),
};
type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;

/** How many names the message about a file without rows has. */
const NAMES_SHOWN = 12;

/** Reads the rows of one file. */
async function* readIdocs(
  file: OpenFile,
  { options, stream, signal, onNoRecords }: FileRequest<Options, StreamOptions>,
): AsyncGenerator<Page> {
  const { encoding, entities, maxRecordBytes } = options;
  let hasRows = false;
  /** The names of the segments, and the message types of the IDocs that are left out, while there is no row. */
  const segments = new Set<string>();
  const types = new Set<string>();

  const rowsOf = function* (record: XmlRecord): Generator<SourceRow> {
    const idoc = record.fields;
    const control = xmlObjectOf(idoc[CONTROL]);
    const number = xmlTextOf(control['DOCNUM']);
    const place = { ...record.place, path: `${record.place.path ?? ''}[DOCNUM=${number}]/${stream.segment}` };
    if (record.issues !== undefined) {
      hasRows = true;
      yield { fields: idoc, place, issues: record.issues };
      return;
    }
    const type = xmlTextOf(control['MESTYP']);
    if (options.messages.length > 0 && !options.messages.includes(type)) {
      if (types.size < NAMES_SHOWN) types.add(type);
      return;
    }
    const body = segmentOf(idoc);
    for (const found of findSegments(body, stream.segment)) {
      hasRows = true;
      yield { ...rowOf(found, body, stream), place };
    }
    if (!hasRows) addSegmentNames(body, segments, NAMES_SHOWN);
  };

  yield* readXmlPages(file, { at: '//IDOC', trim: true, encoding, entities, maxRecordBytes }, signal, rowsOf);
  if (hasRows) return;
  // SAP leaves out segments without content, so a file without the segment may be complete.
  if (segments.size > 0) {
    const message = `${file.name} has no segment ${stream.segment}. It has ${[...segments].join(', ')}.`;
    onNoRecords(`${message} If there should be such segments, correct \`segment\`.`);
  } else if (types.size > 0) {
    const message = `${file.name} has no IDoc of the types ${options.messages.join(', ')}. It has ${[...types].join(', ')}.`;
    onNoRecords(`${message} If there should be such IDocs, correct \`messages\`.`);
  }
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

function takenIssue(name: string): OwnIssue {
  return {
    code: 'row.duplicate',
    message: `The segment has a field ${name}, but \`parent\` gives the same name to a value from outside the segment.`,
    field: name,
  };
}

/** The control record of an IDoc. It changes each time the IDoc is sent, so no row has it. */
const CONTROL = 'EDI_DC40';

/** A segment of an IDoc: its fields by their SAP names, and the segments in it, always as lists. */
function segmentOf(element: JsonObject): JsonObject {
  const entries = Object.entries(element).flatMap(([name, value]): [string, JsonValue][] => {
    if (name.startsWith('@') || name === '#text') return [];
    return [[name, isSegment(value) ? listOf(value).map(segmentOf) : value]];
  });
  return Object.fromEntries(entries);
}

/** A segment at any depth of an IDoc. */
interface FoundSegment {
  fields: JsonObject;
  /** The segments around this segment, with their names, the outermost first. */
  around: readonly (readonly [name: string, segment: JsonObject])[];
}

/** The occurrences of a segment, in their order. */
function* findSegments(
  segment: JsonObject,
  name: string,
  around: FoundSegment['around'] = [],
): Generator<FoundSegment> {
  for (const [member, value] of Object.entries(segment)) {
    if (!isSegment(value) || member === CONTROL) continue;
    for (const child of listOf(value)) {
      if (member === name) yield { fields: child, around };
      yield* findSegments(child, name, [...around, [member, child]]);
    }
  }
}

/** Adds the names of the segments at any depth of an IDoc to a set, as long as it has fewer than `max`. */
function addSegmentNames(segment: JsonObject, names: Set<string>, max: number): void {
  for (const [name, value] of Object.entries(segment)) {
    if (names.size >= max) return;
    if (!isSegment(value) || name === CONTROL) continue;
    names.add(name);
    for (const child of listOf(value)) addSegmentNames(child, names, max);
  }
}

/**
 * A field of the segments around a row, such as `E1STZUM/E1MASTM/MATNR`: each step is a segment around the row, or the
 * first segment of its name beside such a segment. Empty text if there is no such segment.
 */
function fieldAround(path: string, { around }: FoundSegment, idoc: JsonObject): string {
  const steps = path.split('/');
  const field = steps.pop() ?? '';
  let current = idoc;
  for (const [index, step] of steps.entries()) {
    const [name, segment] = around[index] ?? [];
    current = name === step && segment !== undefined ? segment : xmlObjectOf(current[step]);
  }
  return xmlTextOf(current[field]);
}

function isSegment(value: JsonValue | undefined): boolean {
  return isJsonObject(value) || (Array.isArray(value) && value.some((one) => isJsonObject(one)));
}

function listOf(value: JsonValue): JsonObject[] {
  return (Array.isArray(value) ? value : [value]).filter((one) => isJsonObject(one));
}

/** IDocs of SAP as XML files: MATMAS, BOMMAT and others. */
export const sapIdoc = defineFileConnector({
  id: 'sap-idoc',
  title: 'SAP IDocs as XML files (MATMAS, BOMMAT)',
  endings: ['.xml'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: readIdocs,
});
