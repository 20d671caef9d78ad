// How the files of one config belong together: the columns of BOM items whose values are the keys of products and materials.

import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Column } from './columns.ts';
import { isNamed } from './field-names.ts';
import { asBill } from './find-bills.ts';
import type { JoinableFile } from './found-file.ts';
import { keyColumnsOf } from './key-columns.ts';
import { type Article, articlesOf, type Meeting, meetingOf, namesOf, SHARE_SURE } from './meetings.ts';
import { namesMaterial, proposeArticle } from './propose-mapping.ts';
import { guarded, keyLine, type ProposedLine, type ProposedMapping } from './proposed-line.ts';
import { relationsOf, withRelations } from './related-files.ts';

/** A column whose values are keys of other files. */
export interface Join {
  /** The file with the column. */
  file: string;
  /** What a BOM item names with it; `record` for other files, whose column nothing uses yet. */
  ref: 'product' | 'material' | 'component' | 'part' | 'record';
  column: string;
  /** The files whose keys the values are. */
  meets: string[];
  /** How many of the values are keys of these files. */
  found: number;
  of: number;
}

/** Fewer values prove nothing. */
const SHARE_MIN = 0.5;
const MISSED_SHOWN = 3;

/** Joins the files: corrects what records are and what BOM items refer to, by the values that meet. */
export function joinFiles<File extends JoinableFile>(given: readonly File[]): { files: File[]; joins: Join[] } {
  const files = given.map((file) => asBill(file, given));
  const boms = files.filter(({ mapping }) => mapping.to === 'bom_item');
  const articles = articlesOf(files);
  const met = new Map(boms.map((bom) => [bom, meetingsOf(bom, articles)]));
  const products = [...met.values()].flatMap(({ product }) => product ?? []);
  const parts = [...met.values()].flatMap(({ part }) => part ?? []);
  const owners = filesOf(products.filter(({ isAmbiguous }) => !isAmbiguous));
  const ofParts = filesOf(parts);
  const ofMaterials = filesOf(parts.filter(({ column, isAmbiguous }) => !isAmbiguous && namesMaterial(column.label)));
  const kindOf = (file: JoinableFile): Kind => {
    if (file.isCertain === true) return file.mapping.to === 'material' ? 'material' : 'product';
    if (owners.has(file)) return 'product';
    // Where one file has the products of the BOM items, a file that has only parts of them probably has the materials.
    const isMaterial = file.mapping.to === 'material' || ofMaterials.has(file);
    return isMaterial || (owners.size > 0 && ofParts.has(file)) ? 'material' : 'product';
  };
  const joins: Join[] = [];
  const joined = files.map((file) => {
    const meeting = met.get(file);
    if (meeting !== undefined) return bomItems(file, meeting, { kindOf, joins });
    const of = (meetings: readonly Meeting[]) =>
      meetings.filter(({ articles: those }) => those.some((one) => one.file === file));
    const mapping = article(file, kindOf(file), { products: of(products), parts: of(parts) });
    const relations = relationsOf(file, articles);
    joins.push(...relations.map((relation) => joinOf(file, 'record', relation)));
    return { ...file, mapping: withRelations(mapping, file, relations) };
  });
  return { files: joined, joins };
}

/** The BOM items of a config that has nothing else: a person has to say where their products and parts come from. */
export function aloneFile<File extends JoinableFile>(file: File): File {
  if (file.mapping.to !== 'bom_item') return file;
  const reason = `${file.mapping.reason}; nothing here makes the products and parts that the items name. Name their files too, or keep this if another source of the config has them`;
  return { ...file, mapping: { ...file.mapping, reason, isTodo: true } };
}

type Kind = 'product' | 'material';

function filesOf(meetings: readonly Meeting[]): ReadonlySet<JoinableFile> {
  return new Set(meetings.flatMap(({ articles }) => articles.map(({ file }) => file)));
}

/** @param named the columns of BOM items whose values are keys of the file */
function article(
  file: JoinableFile,
  kind: Kind,
  named: { products: readonly Meeting[]; parts: readonly Meeting[] },
): ProposedMapping {
  if (file.isCertain === true) return file.mapping;
  const isChanged = file.mapping.to !== kind;
  const mapping = isChanged ? proposeArticle(file.found.columns, file.key, kind) : file.mapping;
  const all = [...named.products, ...named.parts];
  const unclear = all.find(({ isAmbiguous }) => isAmbiguous);
  if (unclear !== undefined && all.every(({ isAmbiguous }) => isAmbiguous)) {
    const others = namesOf(unclear.articles.filter((one) => one.file !== file)).join(' and ');
    const reason = `${unclear.column.label} may name these records or those of ${others}; write product or material, whichever they are`;
    return { ...mapping, reason, isTodo: true };
  }
  if (!isChanged) return mapping;
  if (kind === 'product') {
    // The name of the file says that they are materials.
    return { ...mapping, reason: 'others name these records as products with parts', isTodo: true };
  }
  const material = named.parts.find(({ column }) => namesMaterial(column.label));
  if (material !== undefined) return { ...mapping, reason: `others name these records in ${material.column.label}` };
  const reason = 'others name these records only as parts of products; if they are products, write product';
  return { ...mapping, reason, isTodo: true };
}

/** Finds the columns with the products and the parts: first those that have a known name, and then those whose values meet. */
function meetingsOf(
  { found: { columns }, mapping, key }: JoinableFile,
  articles: readonly Article[],
): { product: Meeting | null; part: Meeting | null } {
  // Amounts are keys of numbered records by chance.
  const usable = columns.filter(
    ({ label, values, records }) => values.length >= records * SHARE_MIN && !isNamed(label, 'quantity'),
  );
  const meetings = usable.map((column) => meetingOf(column, articles));
  const sound = meetings.filter(({ column, found }) => found >= column.values.length * SHARE_MIN);
  // The numbers of the items themselves may be keys of other files by chance.
  const own = key?.columns.length === 1 && !key.isFlawed ? key.columns[0] : undefined;
  const foreign = sound.filter(({ column }) => column !== own);
  const named = (name: string): Meeting | null => {
    const expression = mapping.refs.find((line) => line.name === name)?.expression ?? null;
    return meetings.find(({ column }) => expression !== null && expression === guarded(column, column.access)) ?? null;
  };
  const isSound = (meeting: Meeting | null): meeting is Meeting => meeting !== null && sound.includes(meeting);
  const [namedProduct, namedPart] = [named('product'), named('part')];
  /** The column whose values are keys without leading zeros, or values of a column that is no key: first the named one. */
  const nearly = (name: Meeting | null, taken: Meeting | null): Meeting | null => {
    const all = meetings.filter((one) => one !== taken && one.column !== own && isNearly(one));
    return (
      all.find((one) => one === name) ?? all.toSorted((a, b) => repeatsOf(b.column) - repeatsOf(a.column))[0] ?? null
    );
  };
  const others = (taken: Meeting | null) => foreign.filter((one) => one !== taken);
  const [firstProduct] = others(namedPart).toSorted(
    (a, b) => clarity(b) - clarity(a) || repeatsOf(b.column) - repeatsOf(a.column),
  );
  const product = isSound(namedProduct)
    ? namedProduct
    : firstProduct !== undefined && isSure(firstProduct)
      ? firstProduct
      : (nearly(namedProduct, namedPart) ?? firstProduct ?? namedProduct);
  const part = isSound(namedPart)
    ? namedPart
    : (others(product).toSorted((a, b) => clarity(b) - clarity(a) || b.found - a.found)[0] ??
      nearly(namedPart, product) ??
      namedPart);
  return { product, part: part === product ? null : part };
}

const isSure = ({ column, found }: Meeting): boolean => found >= column.values.length * SHARE_SURE;

function isNearly({ column: { values }, found, foundBare, elsewhere }: Meeting): boolean {
  if (found >= values.length * SHARE_MIN) return false;
  return foundBare >= values.length * SHARE_SURE || elsewhere !== null;
}

/** A column that means a file by its name goes before one of which only the values show it, and this one before one that may mean several. */
const clarity = ({ meant, isAmbiguous }: Meeting): number => (meant === null ? 0 : 1) - (isAmbiguous ? 1 : 0);

/** How often a value of the column comes on average. A product has several parts, so its values repeat. */
const repeatsOf = ({ values }: Column): number => values.length / new Set(values).size;

function bomItems<File extends JoinableFile>(
  file: File,
  { product, part }: { product: Meeting | null; part: Meeting | null },
  { kindOf, joins }: { kindOf: (file: JoinableFile) => Kind; joins: Join[] },
): File {
  const kinds = new Set(part?.articles.map((one) => kindOf(one.file)) ?? []);
  const partRef =
    kinds.size !== 1 ? ('part' as const) : kinds.has('material') ? ('material' as const) : ('component' as const);
  const refs = file.mapping.refs.map((line): ProposedLine => {
    const [ref, meeting] = line.name === 'product' ? (['product', product] as const) : ([partRef, part] as const);
    if (meeting === null) return line;
    joins.push(joinOf(file, ref, meeting));
    return refLine(ref, meeting, line);
  });
  const isFound = file.mapping.refs.some(({ name, expression }) => name === 'product' && expression === null);
  if (!isFound || product === null || file.hasKey) return { ...file, mapping: { ...file.mapping, refs } };
  // Only now it is known which column has the product, which is a part of the key.
  const { columns, repeats } = file.found;
  const key = keyColumnsOf(columns, { repeats, isWhole: file.isWhole, owner: product.column });
  const fallback = [product.column, ...(part === null ? [] : [part.column])];
  return { ...file, key, mapping: { ...file.mapping, key: keyLine(key, fallback, columns), refs } };
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

/** @param line what the names of the columns alone have shown */
function refLine(ref: Join['ref'], meeting: Meeting, line: ProposedLine): ProposedLine {
  const { column, articles, found } = meeting;
  const of = column.values.length;
  const expression = guarded(column, column.access);
  if (articles.length === 0) {
    const keys = elsewhereText(meeting) ?? `none of its values is a key of another file${zerosText(meeting)}`;
    const isKnown = line.expression !== null;
    const reason = isKnown
      ? `${line.reason}; ${keys}`
      : `no column has a known name for it; of ${column.label}, ${keys}`;
    return { name: ref, expression: line.expression ?? expression, reason, isTodo: true };
  }
  const names = namesOf(articles).join(' and ');
  const missed = [...new Set(column.values.filter((value) => articles.every(({ keys }) => !keys.has(value))))];
  const shown = missed.slice(0, MISSED_SHOWN).map((value) => JSON.stringify(value));
  const not = missed.length === 0 ? '' : `, not ${shown.join(', ')}${missed.length > shown.length ? ' …' : ''}`;
  const keys = `${formatCount(found)} of ${counted(of, 'value is a key', 'values are keys')} of ${names}${not}`;
  const chance = ref === 'component' && isByChance(meeting) ? `; ${CHANCE}` : '';
  const reason = `${keys}${zerosText(meeting)}${whichText(ref, meeting)}${chance}`;
  return { name: ref, expression, reason, isTodo: chance !== '' || meeting.isAmbiguous || found < of * SHARE_SURE };
}

const CHANCE =
  'but the name of the column is that of materials, and numbers may be equal by chance: name the file of the materials too, or keep this if the parts are products';

/** True for numbers of materials that are only met by the numbers of products. */
function isByChance({ column, articles }: Meeting): boolean {
  const isOfMaterials = articles.some(({ file, key }) => namesMaterial(file.name) || namesMaterial(key.label));
  return namesMaterial(column.label) && !isOfMaterials && column.values.every((value) => /^\d+$/.test(value));
}

/** Why one of several files is meant, or that no name shows which one. */
function whichText(ref: Join['ref'], { meant, isAmbiguous, articles }: Meeting): string {
  if (!isAmbiguous) return meant === null ? '' : `; other files have these values too, and ${meant}`;
  const cure =
    ref === 'product'
      ? 'delete the word TODO if the products are among them, or name another column'
      : `write \`material\` or \`component\` here, as the records of the file are materials or products`;
  return `; several files have the same values, and no name shows whether ${namesOf(articles).join(' or ')} is meant: ${cure}`;
}

function elsewhereText({ elsewhere, column: { values } }: Meeting): string | null {
  if (elsewhere === null) return null;
  const { column, found, article: other } = elsewhere;
  const { name } = other.file;
  return `${formatCount(found)} of ${counted(values.length, 'value is', 'values are')} in ${column.label} of ${name}, whose key is ${other.key.label}. An item names a key, so ${column.label} would have to be the key of ${name}, in its stream and its mapping`;
}

function zerosText({ column, found, foundBare }: Meeting): string {
  const { length } = column.values;
  return foundBare <= found || foundBare < length * SHARE_SURE
    ? ''
    : `; without leading zeros ${formatCount(foundBare)} are keys, so write the keys of both files in one form`;
}
