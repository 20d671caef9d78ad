import { posix } from 'node:path';
import {
  builtInNumberFormat,
  type NumberFormat,
  PLAIN_NUMBER_FORMAT,
  parseNumberFormat,
  sourceFault,
} from '../../src/sdk/index.ts';
import { type Archive, damaged } from './archive.ts';
import { createStringTable, NO_STRINGS, type SharedStrings } from './shared-strings.ts';
import { createPartReader, localName, type PartHandlers } from './xml-part.ts';

export interface Sheet {
  name: string;
  hidden: boolean;
  /** The name of the sheet's part in the archive. */
  part: string;
}

/** The facts about a workbook that are read before its sheets. */
export interface Workbook {
  sheets: readonly Sheet[];
  is1904: boolean;
  stylesPart: string | undefined;
  stringsPart: string | undefined;
}

export interface PartLimits {
  cellMax: number;
  bytesMax: number;
  signal: AbortSignal;
}

const SHEETS_MAX = 10_000;
/** The size limit of parts other than sheets and texts, which are small. */
const SMALL_PART_BYTES = 64 * 1024 * 1024;
/**
 * How many characters of XML one character of a value may need. There is at most one value between two tags, and each
 * character may be written as `&#x10FFFF;`.
 */
const CHARACTER_MAX = 10;
const MARKUP_MAX = 1024 * 1024;

/** Reads a part from start to end; between two pieces the caller may use the results of the handlers. */
export async function* readPart(
  archive: Archive,
  part: string,
  { handlers, limits }: { handlers: PartHandlers; limits: PartLimits },
): AsyncGenerator<{ share: number; ended: boolean }> {
  const reader = createPartReader(handlers, { silenceMax: limits.cellMax * CHARACTER_MAX + MARKUP_MAX });
  for await (const { text, share } of archive.read(part, limits)) {
    parse(archive.file, part, () => reader.write(text));
    yield { share, ended: false };
  }
  parse(archive.file, part, () => reader.end());
  yield { share: 1, ended: true };
}

function parse(file: string, part: string, step: () => void): void {
  try {
    step();
  } catch (error) {
    throw damaged(file, new Error(`${part}: ${error instanceof Error ? error.message : String(error)}`));
  }
}

async function readWhole(
  archive: Archive,
  part: string,
  request: { handlers: PartHandlers; limits: PartLimits },
): Promise<void> {
  for await (const _ of readPart(archive, part, request));
}

/** @throws a `sourceFault` if the file is another kind of document */
export async function openWorkbook(archive: Archive, limits: PartLimits): Promise<Workbook> {
  const small = { ...limits, bytesMax: Math.min(limits.bytesMax, SMALL_PART_BYTES) };
  const main = await mainPart(archive, small);
  const related = await relationsOf(archive, main, small);
  const sheets: { name: string; hidden: boolean; id: string }[] = [];
  let is1904 = false;
  const handlers: PartHandlers = {
    open(name, attributes) {
      if (name === 'workbookPr') is1904 = ['1', 'true'].includes(attributes['date1904'] ?? '');
      if (name !== 'sheet') return;
      if (sheets.length >= SHEETS_MAX) throw new Error(`it has more than ${SHEETS_MAX} sheets`);
      const id = Object.entries(attributes).find(([key]) => key.includes(':') && localName(key) === 'id')?.[1] ?? '';
      sheets.push({ name: attributes['name'] ?? '', hidden: (attributes['state'] ?? 'visible') !== 'visible', id });
    },
    text() {},
    close() {},
  };
  await readWhole(archive, main, { handlers, limits: small });
  const partOf = (kind: string) => related.find((relation) => relation.kind === kind)?.part;
  return {
    sheets: sheets.flatMap(({ id, ...sheet }) => {
      const relation = related.find((one) => one.id === id);
      // Charts and dialogs are sheets too, but have no cells, so they are left out.
      return relation?.kind === 'worksheet' ? [{ ...sheet, part: relation.part }] : [];
    }),
    is1904,
    stylesPart: partOf('styles'),
    stringsPart: partOf('sharedStrings'),
  };
}

/**
 * The sheet with a name or a number. Without both, the first sheet that is not hidden.
 *
 * @throws a `sourceFault` that names the existing sheets
 */
export function chooseSheet({ sheets }: Workbook, wanted: string | number | undefined, file: string): Sheet {
  // Programs of macOS write an accent as a character of its own, so the same name may have two forms.
  const form = (name: string) => name.normalize('NFC');
  const found =
    wanted === undefined
      ? (sheets.find(({ hidden }) => !hidden) ?? sheets[0])
      : typeof wanted === 'number'
        ? sheets[wanted - 1]
        : (sheets.find(({ name }) => name === wanted) ?? sheets.find(({ name }) => form(name) === form(wanted)));
  if (found !== undefined) return found;
  const names = sheets.map(({ name }) => JSON.stringify(name)).join(', ');
  throw sourceFault(`${file} has no sheet ${wanted === undefined ? 'with cells' : JSON.stringify(wanted)}.`, {
    suggestion: sheets.length === 0 ? 'Export the file again.' : `Its sheets are ${names}.`,
  });
}

export async function readStyles(archive: Archive, { stylesPart }: Workbook, limits: PartLimits): Promise<Styles> {
  if (stylesPart === undefined || !archive.has(stylesPart)) return NO_STYLES;
  const reader = createStyleReader();
  const small = { ...limits, bytesMax: Math.min(limits.bytesMax, SMALL_PART_BYTES) };
  await readWhole(archive, stylesPart, { handlers: reader.part, limits: small });
  return reader.styles();
}

/** Reads the shared texts. Close the table after the cells were read. */
export async function readStrings(
  archive: Archive,
  { stringsPart }: Workbook,
  limits: PartLimits,
): Promise<SharedStrings> {
  if (stringsPart === undefined || !archive.has(stringsPart)) return NO_STRINGS;
  const table = createStringTable({ cellMax: limits.cellMax });
  try {
    await readWhole(archive, stringsPart, { handlers: table.part, limits });
  } catch (error) {
    table.strings.close();
    throw error;
  }
  return table.strings;
}

interface Relation {
  id: string;
  /** The last part of the relation's type. It is the same in the transitional and the strict form. */
  kind: string;
  part: string;
}

async function mainPart(archive: Archive, limits: PartLimits): Promise<string> {
  const relations = await relationsOf(archive, '', limits);
  const main = relations.find(({ kind }) => kind === 'officeDocument')?.part ?? 'xl/workbook.xml';
  if (/\.bin$/i.test(main)) {
    throw sourceFault(`${archive.file} is a binary workbook (.xlsb), not an XLSX workbook.`, {
      suggestion: 'Save it as .xlsx.',
    });
  }
  if (archive.has(main) && !/\/(?:document|presentation)\.xml$/i.test(main)) return main;
  const shown = archive.names.slice(0, 3).join(', ');
  const kind = archive.has('mimetype')
    ? 'an OpenDocument file'
    : archive.has(main)
      ? 'a document of another Office program'
      : `a .zip file without a workbook (it has ${shown === '' ? 'no files' : shown})`;
  throw sourceFault(`${archive.file} is ${kind}, not an XLSX workbook.`, {
    suggestion: 'Save it as .xlsx, or check the path.',
  });
}

/** The relations of a part. With an empty name, the relations of the whole file. */
async function relationsOf(archive: Archive, part: string, limits: PartLimits): Promise<Relation[]> {
  const slash = part.lastIndexOf('/');
  const [folder, name] = [part.slice(0, slash + 1), part.slice(slash + 1)];
  const relationsPart = `${folder}_rels/${name}.rels`;
  if (!archive.has(relationsPart)) return [];
  const relations: Relation[] = [];
  const handlers: PartHandlers = {
    open(element, { Id = '', Type = '', Target = '', TargetMode }) {
      if (element !== 'Relationship' || TargetMode === 'External') return;
      relations.push({ id: Id, kind: Type.slice(Type.lastIndexOf('/') + 1), part: resolvePart(folder, Target) });
    },
    text() {},
    close() {},
  };
  await readWhole(archive, relationsPart, { handlers, limits });
  return relations;
}

function resolvePart(folder: string, target: string): string {
  return posix.resolve(`/${folder}`, target).slice(1);
}

/** The most cell styles. Excel itself allows 65,490. */
const STYLES_MAX = 100_000;

/** The number format of each cell style, by the number that cells refer to. */
interface Styles {
  formatOf(style: number): NumberFormat;
}

const NO_STYLES: Styles = { formatOf: () => PLAIN_NUMBER_FORMAT };

/** Collects the number formats of `styles.xml`. */
function createStyleReader(): { part: PartHandlers; styles(): Styles } {
  const own = new Map<number, NumberFormat>();
  const ids: number[] = [];
  let inCells = false;
  const part: PartHandlers = {
    open(name, attributes) {
      if (name === 'numFmt') own.set(Number(attributes['numFmtId']), parseNumberFormat(attributes['formatCode'] ?? ''));
      else if (name === 'cellXfs') inCells = true;
      else if (name === 'xf' && inCells) ids.push(Number(attributes['numFmtId'] ?? 0));
      if (ids.length > STYLES_MAX || own.size > STYLES_MAX) throw new Error(`it has more than ${STYLES_MAX} styles`);
    },
    text() {},
    close(name) {
      if (name === 'cellXfs') inCells = false;
    },
  };
  return {
    part,
    styles() {
      const formats = ids.map((id) => own.get(id) ?? builtInNumberFormat(id));
      return { formatOf: (style) => formats[style] ?? PLAIN_NUMBER_FORMAT };
    },
  };
}
