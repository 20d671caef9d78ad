// How the files of one config belong together: the columns of BOM items whose values are the keys of products and materials.

import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Column } from './columns.ts';
import { asBill } from './find-bills.ts';
import type { JoinableFile } from './joinable-file.ts';
import { proposeArticle } from './propose-mapping.ts';
import { guarded, type ProposedLine, type ProposedMapping } from './proposed-line.ts';

/** A column of BOM items whose values are keys of other files. */
export interface Join {
  /** The file with the BOM items. */
  file: string;
  ref: 'product' | 'material' | 'component' | 'part';
  column: string;
  /** The files whose keys the values are. */
  meets: string[];
  /** How many of the values are keys of these files. */
  found: number;
  of: number;
}

/** Fewer values prove nothing. */
const SHARE_MIN = 0.5;
/** With fewer values that are found, a person has to look at the join. */
const SHARE_SURE = 0.95;
/** A file with fewer keys among the values has met them by chance. */
const SHARE_OF_FILE = 0.02;
const MISSED_SHOWN = 3;

interface Article {
  file: JoinableFile;
  keys: ReadonlySet<string>;
}

/** A column with the files whose keys it has. */
interface Meeting {
  column: Column;
  articles: Article[];
  found: number;
  /** How many values would be keys of any file without leading zeros, which one system writes and another one leaves out. */
  foundBare: number;
}

/** Joins the files: corrects what records are and what BOM items refer to, by the values that meet. */
export function joinFiles<File extends JoinableFile>(given: readonly File[]): { files: File[]; joins: Join[] } {
  const files = given.map((file) => asBill(file, given));
  const boms = files.filter(({ mapping }) => mapping.to === 'bom_item');
  const articles = files.flatMap((file): Article[] => {
    const [column, ...more] = file.mapping.to === 'bom_item' ? [] : (file.key?.columns ?? []);
    return column === undefined || more.length > 0 ? [] : [{ file, keys: new Set(column.values) }];
  });
  const met = new Map(boms.map((bom) => [bom, meetingsOf(bom, articles)]));
  const owners = new Set([...met.values()].flatMap(({ product }) => product?.articles.map(({ file }) => file) ?? []));
  const parts = new Set([...met.values()].flatMap(({ part }) => part?.articles.map(({ file }) => file) ?? []));
  const kindOf = (file: JoinableFile): 'product' | 'material' => {
    if (file.isCertain === true) return file.mapping.to === 'material' ? 'material' : 'product';
    if (owners.has(file)) return 'product';
    // Where one file has the products of the BOM items, a file that has only parts of them probably has the materials.
    return file.mapping.to === 'material' || (owners.size > 0 && parts.has(file)) ? 'material' : 'product';
  };
  const joins: Join[] = [];
  const joined = files.map((file) => {
    const meeting = met.get(file);
    const mapping = meeting === undefined ? article(file, kindOf(file)) : bomItems(file, meeting, { kindOf, joins });
    return { ...file, mapping };
  });
  return { files: joined, joins };
}

function article(file: JoinableFile, kind: 'product' | 'material'): ProposedMapping {
  if (file.isCertain === true || file.mapping.to === kind) return file.mapping;
  const mapping = proposeArticle(file.found.columns, file.key, kind);
  const reason =
    kind === 'material'
      ? 'others name these records only as parts of products; if they are products, write product'
      : 'others name these records as products with parts';
  return { ...mapping, reason, isTodo: kind === 'material' };
}

/** Finds the columns with the products and the parts: first those that have a known name, and then those whose values meet. */
function meetingsOf(
  { found: { columns }, mapping }: JoinableFile,
  articles: readonly Article[],
): { product: Meeting | null; part: Meeting | null } {
  const usable = columns.filter(({ values, records }) => values.length >= records * SHARE_MIN);
  const meetings = usable.map((column) => meetingOf(column, articles));
  const sound = meetings.filter(({ column, found }) => found >= column.values.length * SHARE_MIN);
  const named = (name: string): Meeting | null => {
    const expression = mapping.refs.find((line) => line.name === name)?.expression ?? null;
    return meetings.find(({ column }) => expression !== null && expression === guarded(column, column.access)) ?? null;
  };
  const isSound = (meeting: Meeting | null): meeting is Meeting => meeting !== null && sound.includes(meeting);
  const [namedProduct, namedPart] = [named('product'), named('part')];
  const others = (taken: Meeting | null) => sound.filter((one) => one !== taken);
  const product = isSound(namedProduct)
    ? namedProduct
    : (others(namedPart).toSorted((a, b) => repeatsOf(b.column) - repeatsOf(a.column))[0] ?? namedProduct);
  const part = isSound(namedPart) ? namedPart : (others(product).toSorted((a, b) => b.found - a.found)[0] ?? namedPart);
  return { product, part: part === product ? null : part };
}

/** How often a value of the column comes on average. A product has several parts, so its values repeat. */
const repeatsOf = ({ values }: Column): number => values.length / new Set(values).size;

function meetingOf(column: Column, articles: readonly Article[]): Meeting {
  const { values } = column;
  const met = articles.filter(({ keys }) => {
    const found = values.filter((value) => keys.has(value)).length;
    return found > 0 && found >= values.length * SHARE_OF_FILE;
  });
  const found = values.filter((value) => met.some(({ keys }) => keys.has(value))).length;
  const bareKeys = new Set(articles.flatMap(({ keys }) => Array.from(keys, bare)));
  return { column, articles: met, found, foundBare: values.filter((value) => bareKeys.has(bare(value))).length };
}

const bare = (text: string): string => text.replace(/^0+(?=.)/, '');

function bomItems(
  file: JoinableFile,
  { product, part }: { product: Meeting | null; part: Meeting | null },
  { kindOf, joins }: { kindOf: (file: JoinableFile) => 'product' | 'material'; joins: Join[] },
): ProposedMapping {
  const kinds = new Set(part?.articles.map((one) => kindOf(one.file)) ?? []);
  const partRef =
    kinds.size !== 1 ? ('part' as const) : kinds.has('material') ? ('material' as const) : ('component' as const);
  const refs = file.mapping.refs.map((line): ProposedLine => {
    const [ref, meeting] = line.name === 'product' ? (['product', product] as const) : ([partRef, part] as const);
    if (meeting === null) return line;
    joins.push(joinOf(file, ref, meeting));
    return refLine(ref, meeting, line);
  });
  return { ...file.mapping, refs };
}

function joinOf({ name }: JoinableFile, ref: Join['ref'], { column, articles, found }: Meeting): Join {
  return {
    file: name,
    ref,
    column: column.label,
    meets: namesOf(articles),
    found,
    of: column.values.length,
  };
}

function namesOf(articles: readonly Article[]): string[] {
  return [...new Set(articles.map(({ file }) => file.name))];
}

/** @param line what the names of the columns alone have shown */
function refLine(ref: Join['ref'], meeting: Meeting, line: ProposedLine): ProposedLine {
  const { column, articles, found } = meeting;
  const of = column.values.length;
  const expression = guarded(column, column.access);
  if (articles.length === 0) {
    const reason = `${line.reason}; none of its values is a key of another file${zerosText(meeting)}`;
    return { name: ref, expression: line.expression, reason, isTodo: true };
  }
  const names = namesOf(articles).join(' and ');
  const missed = [...new Set(column.values.filter((value) => articles.every(({ keys }) => !keys.has(value))))];
  const shown = missed.slice(0, MISSED_SHOWN).map((value) => JSON.stringify(value));
  const not = missed.length === 0 ? '' : `, not ${shown.join(', ')}${missed.length > shown.length ? ' …' : ''}`;
  const reason = `${formatCount(found)} of ${counted(of, 'value is a key', 'values are keys')} of ${names}${not}${zerosText(meeting)}`;
  return { name: ref, expression, reason, isTodo: found < of * SHARE_SURE };
}

function zerosText({ column, found, foundBare }: Meeting): string {
  const { length } = column.values;
  return foundBare <= found || foundBare < length * SHARE_SURE
    ? ''
    : `; without leading zeros ${formatCount(foundBare)} are keys, so write the keys of both files in one form`;
}
