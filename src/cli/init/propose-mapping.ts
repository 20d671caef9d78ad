import { type Column, describeUnique, isComplete } from './columns.ts';
import { type Concept, withoutAccents } from './field-names.ts';
import type { FoundKey } from './key-columns.ts';
import {
  type Choice,
  choose,
  describeRefused,
  guarded,
  keyLine,
  leftOut,
  lineIfAny,
  lineOf,
  missing,
  named,
  type ProposedLine,
  type ProposedMapping,
  type ValueCheck,
} from './proposed-line.ts';
import {
  areCodes,
  asCountry,
  asDate,
  asDecimal,
  asGtin,
  asText,
  asUnit,
  type CheckedExpression,
  fromPercent,
  isAmbiguousDecimal,
} from './value-checks.ts';

/**
 * Proposes a mapping for the records of a stream. Each line has the reason for it. If no column is certain, the line
 * says what a person has to do.
 *
 * @param name the name of the stream or the file, which may show the kind of the records
 */
export function proposeMapping(columns: readonly Column[], key: FoundKey | null, name: string): ProposedMapping {
  const bom = proposeBomItems(columns, key, name);
  if (bom !== null) return bom;
  return proposeArticle(columns, key, namesMaterial(name) ? 'material' : 'product');
}

/** True if a file or a column has a name of materials. */
export function namesMaterial(name: string): boolean {
  return /material|werkstoff|rohstoff|matiere|grondstof|materia|surow|surovin|sirovin|ravar|raaka-?aine/.test(
    withoutAccents(name),
  );
}

/** Proposes a mapping for records that are products or materials. */
export function proposeArticle(
  columns: readonly Column[],
  key: FoundKey | null,
  to: 'product' | 'material',
): ProposedMapping {
  const number = numberOf(columns, to);
  const shared = [numberLine(to === 'product' ? 'sku' : 'code', number, { key, columns }), ...textLines(columns)];
  const own = to === 'product' ? productLines(columns, number) : materialLines(columns);
  return {
    to,
    reason:
      to === 'product'
        ? 'no column shows materials or BOM items; change this line if the rows are such items'
        : 'the name of the file says so; change it if they are products',
    key: keyInObject(key, number) ?? keyLine(key, number === null ? [] : [number.column], columns),
    refs: [],
    fields: [...shared, ...own].filter((line) => line !== null),
  };
}

/** The key of items for records whose article number is within an object, so that it is no key of the stream; null for others. */
function keyInObject(key: FoundKey | null, number: Choice | null): ProposedLine | null {
  if (key !== null || number === null || !number.column.isUnique || !isComplete(number.column)) return null;
  return { name: 'key', expression: number.column.access, reason: describeUnique(number.column), isTodo: false };
}

/** The lines for the name and the description. The only text of an article is its name, whatever its column is called. */
function textLines(columns: readonly Column[]): (ProposedLine | null)[] {
  const name = choose(columns, 'name', { check: asText });
  const description = choose(
    columns.filter((column) => column !== name?.column),
    'description',
    { check: asText },
  );
  if (description === null) return [nameLine(name, columns)];
  if (name === null && description.isExact && countMarked(description.column) === 0)
    return [
      {
        ...lineOf(
          'name',
          description,
          'keep it if the column has the names of the articles, since no other column has them',
        ),
        isTodo: true,
      },
    ];
  const others = columns.filter((column) => column !== description.column);
  return [nameLine(name, others), descriptionLine(description)];
}

function numberOf(columns: readonly Column[], to: 'product' | 'material'): Choice | null {
  const code = to === 'material' ? choose(columns, 'materialCode', { check: asText }) : null;
  return code?.isExact === true ? code : choose(columns, 'sku', { check: asText });
}

const GTINS: ValueCheck = { check: asGtin, shareMin: 0.5 };
const COUNTRIES: ValueCheck = { check: asCountry, shareMin: 0.5 };

function productLines(columns: readonly Column[], number: Choice | null): (ProposedLine | null)[] {
  const gtins = choose(columns, 'gtin', GTINS) ?? gtinByContent(columns, number);
  const gtinLine = lineIfAny('gtin', gtins) ?? leftOut('gtin', describeRefused(columns, 'gtin', GTINS));
  return [statusLine(columns), countryLine('country_of_origin', columns), gtinLine];
}

function materialLines(columns: readonly Column[]): (ProposedLine | null)[] {
  return [
    lineIfAny('category', choose(columns, 'category', { check: asText })),
    countryLine('origin_country', columns),
    recycledLine(columns),
  ];
}

/**
 * Finds a column of GTINs by its values: numbers with a correct check digit in every row are GTINs, whatever the name
 * of the column is.
 */
function gtinByContent(columns: readonly Column[], number: Choice | null): Choice | null {
  for (const column of columns) {
    if (column === number?.column || column.values.length < 5 || !/^\d{12,14}$/.test(column.values[0] ?? '')) continue;
    const checked = asGtin(column);
    if (checked.taken === checked.of) return { column, checked, isExact: true, others: [] };
  }
  return null;
}

function numberLine(
  name: string,
  choice: Choice | null,
  { key, columns }: { key: FoundKey | null; columns: readonly Column[] },
): ProposedLine {
  if (choice !== null) {
    const { column } = choice;
    const isSound = column.isUnique && isComplete(column);
    const what = isSound ? describeUnique(column) : column.isUnique ? '' : 'some records have the same value';
    const isKey = key?.columns.includes(column) === true;
    // A part of a name proves little: `articleType` begins like an article number. Then the values have to be codes too.
    const isNamed = choice.isExact || areCodes(column.values);
    return { ...lineOf(name, choice, what), isTodo: name === 'sku' && !(isNamed && (isSound || isKey)) };
  }
  const reason = 'no column has a known name of an article number';
  const [only, ...more] = key?.columns ?? [];
  if (only === undefined || more.length > 0) return { ...missing(name, reason, columns), isTodo: name === 'sku' };
  const others = key?.others ?? [];
  const alike = others.length === 0 ? '' : `; ${named(others)} could be it too`;
  return { name, expression: only.access, reason: `${reason}, so this is the key${alike}`, isTodo: true };
}

function nameLine(choice: Choice | null, columns: readonly Column[]): ProposedLine {
  if (choice !== null) {
    const line = lineOf('name', choice);
    return choice.isExact || isLikelyName(choice.column)
      ? line
      : { ...line, reason: `${line.reason}; keep it if these are the names of the articles`, isTodo: true };
  }
  const reason = 'required, and no column has a known name for it';
  const texts = columns.filter(hasText);
  const [only, ...more] = texts;
  if (only === undefined) return missing('name', reason, columns);
  if (more.length > 0) return missing('name', `${reason}; ${named(texts)} have text`, texts);
  const line = { name: 'name', expression: guarded(only, only.access), isTodo: true };
  return {
    ...line,
    reason: 'keep it if the column is right; no column has a known name for it, and this is the only one with text',
  };
}

/** True if every record has a value, and most values differ. The places and groups of articles are repeated. */
function isLikelyName({ values, records }: Column): boolean {
  return values.length === records && new Set(values).size > values.length / 2;
}

/** Tags and entities that shop systems write into texts. A single sign such as `<` is not markup. */
const MARKUP =
  /<\/?(?:a|b|br|div|em|h[1-6]|i|li|ol|p|span|strong|table|td|tr|u|ul)\b[^<>]*>|&(?:[a-z]{2,8}|#\d{2,6});/i;

/** Proposes the line for the description. Tags are removed, because a passport would show them to people. */
function descriptionLine(choice: Choice): ProposedLine {
  const marked = countMarked(choice.column);
  if (marked === 0) return lineOf('description', choice);
  const checked: CheckedExpression = { ...choice.checked, expression: (access) => `html_text(${access})` };
  return lineOf('description', { ...choice, checked }, `${marked} of its values ${marked === 1 ? 'has' : 'have'} HTML`);
}

function countMarked({ values }: Column): number {
  return values.filter((value) => MARKUP.test(value)).length;
}

/** True if many of the values have several words. */
function hasText({ values }: Column): boolean {
  const having = values.filter((value) => /\p{L}{3,}.*\s.*\p{L}/u.test(value));
  return values.length > 0 && having.length > values.length / 4;
}

function statusLine(columns: readonly Column[]): ProposedLine {
  const choice = choose(columns, 'status', { check: asText });
  const line = { name: 'status', expression: '"DRAFT"', isTodo: false };
  if (choice === null) return { ...line, reason: 'fixed; the only status that the platform documents' };
  const values = [...new Set(choice.column.values)];
  const shown = values.slice(0, 5).map((value) => value.slice(0, 20));
  const more = values.length > shown.length ? ', …' : '';
  return { ...line, reason: `fixed; ${choice.column.label} has ${shown.join(', ')}${more}, which can be translated` };
}

/** Proposes the line for the country. A passport needs a country, but a record can be sent without it. */
function countryLine(name: string, columns: readonly Column[]): ProposedLine {
  const choice = choose(columns, 'country', COUNTRIES);
  if (choice !== null) return lineOf(name, choice);
  const guess = countryByContent(columns);
  if (guess !== null) return { ...lineOf(name, guess, 'no column has a known name for it'), isTodo: true };
  const refused =
    describeRefused(columns, 'country', COUNTRIES) ??
    'no column has a known name for it, and none has names of countries';
  const reason = `${refused}; the platform asks for it before it publishes. One country for all: ${name}: '"DE"'`;
  return { name, expression: null, reason, isTodo: true, isOptional: true };
}

/**
 * Shorter values do not count as names of countries: codes of units, languages or colours may be equal to codes of
 * countries.
 */
const COUNTRY_NAME_MIN = 4;

/** The first column of which most values are names of countries, whatever the name of the column is. */
function countryByContent(columns: readonly Column[]): Choice | null {
  const found = columns
    .filter(({ values }) => values.filter(({ length }) => length >= COUNTRY_NAME_MIN).length > values.length / 2)
    .map((column) => ({ column, checked: asCountry(column) }))
    .filter(({ checked: { taken, of } }) => taken > of / 2);
  const [best, ...others] = found;
  return best === undefined ? null : { ...best, isExact: false, others: others.map(({ column }) => column) };
}

/** Proposes the line for the recycled content. A share in percent is converted to a fraction. */
function recycledLine(columns: readonly Column[]): ProposedLine | null {
  const choice = choose(columns, 'recycled', { check: asDecimal, shareMin: 0.5 });
  if (choice === null) return null;
  const numbers = choice.column.values.map((value) => Number(value.replace(',', '.')));
  if (!numbers.some((number) => number > 1)) return lineOf('recycled_mass_fraction', choice);
  return lineOf(
    'recycled_mass_fraction',
    { ...choice, checked: fromPercent(choice.column, choice.checked) },
    'some are above 1, so they are read as percent',
  );
}

/** The columns that make a BOM item of a record; null for a part that no column has for certain. */
export interface BomColumns {
  product: Choice | null;
  component: Choice | null;
  quantity: Choice | null;
}

/** The names of files with BOM items, without accents. */
const BOM_NAME =
  /bills?.?of.?material|(?<![a-z])boms?(?![a-z])|bom_?(?:lines?|items?)|stueckliste|nomenclature|stuklijst|distinta|despiece|escandallo|stycklist|stykliste|stykkliste|kusovnik|kosovnica|sastavnica|darabjegyzek|osaluettelo/;

/**
 * Proposes BOM items if the columns show that the records are BOM items, or if the name of the file shows it.
 *
 * @returns null if neither does
 */
function proposeBomItems(columns: readonly Column[], key: FoundKey | null, name: string): ProposedMapping | null {
  const bom = bomColumns(columns, name);
  if (bom === null) return null;
  const { product, component } = bom;
  const reason =
    product !== null && component !== null && bom.quantity !== null
      ? `records name a product (${product.column.label}), a part (${component.column.label}) and a quantity`
      : 'the name of the file says so';
  return proposeBomItem(columns, key, { ...bom, reason });
}

/** The column that names the product of each BOM item; null if there is none, or if the records are no BOM items. */
export function productOfBomItems(columns: readonly Column[], name: string): Column | null {
  return bomColumns(columns, name)?.product?.column ?? null;
}

/**
 * Records are BOM items if each one names a product, a part of it and a quantity, or if the name of the file says so.
 * In a list of articles each record has an article number of its own, so a column with such numbers names the product
 * of BOM items only if its values repeat. In such a list a column `product` has names.
 */
function bomColumns(columns: readonly Column[], name: string): BomColumns | null {
  const isNamed = BOM_NAME.test(withoutAccents(name));
  const named = chooseExactly(columns, 'product', TEXTS);
  const parts = partColumns(columns);
  const { quantity } = parts;
  const component =
    parts.component?.column === named?.column
      ? partColumns(columns.filter((column) => column !== named?.column)).component
      : parts.component;
  const article = chooseExactly(
    columns.filter((column) => column !== component?.column),
    'article',
    TEXTS,
  );
  const product = named ?? (article?.column.isUnique === true ? null : article);
  const isComplete = product !== null && component !== null && quantity !== null;
  const isArticle =
    named === null
      ? hasNames(columns)
      : named.column.isUnique && article?.column.isUnique === true && article.column !== named.column;
  return isNamed || (isComplete && !isArticle) ? { product, component, quantity } : null;
}

/** The columns with the part and the quantity of BOM items, whatever product they belong to. */
export function partColumns(columns: readonly Column[]): Pick<BomColumns, 'component' | 'quantity'> {
  const quantity = chooseExactly(columns, 'quantity', { check: asDecimal, shareMin: 0.5 });
  const others = columns.filter((column) => column !== quantity?.column);
  const component = chooseExactly(others, 'component', TEXTS);
  // A list of a CAD system calls its parts by their part numbers, as a list of articles does. Only the assembly distinguishes the two.
  const assembly = component === null ? chooseExactly(others, 'assembly', TEXTS) : null;
  if (assembly === null) return { component, quantity };
  return {
    component: chooseExactly(
      others.filter((column) => column !== assembly.column),
      'sku',
      TEXTS,
    ),
    quantity,
  };
}

/** True if a column has the names of the records, as a list of articles has. */
export function hasNames(columns: readonly Column[]): boolean {
  return chooseExactly(columns, 'name', TEXTS) !== null;
}

const TEXTS: ValueCheck = { check: asText };

/** A column whose whole name is a known one; null if there is none. */
function chooseExactly(columns: readonly Column[], concept: Concept, check: ValueCheck): Choice | null {
  const choice = choose(columns, concept, check);
  return choice?.isExact === true ? choice : null;
}

/** Proposes BOM items of these columns. */
export function proposeBomItem(
  columns: readonly Column[],
  key: FoundKey | null,
  { product, component, quantity, reason }: BomColumns & { reason: string },
): ProposedMapping {
  const position = choose(columns, 'position', { check: asText });
  const parts = [product, component, position].flatMap((choice) => (choice === null ? [] : [choice.column]));
  const optional = [
    unitLine(columns),
    lineIfAny('position', position),
    lineIfAny('valid_from', choose(columns, 'from', { check: asDate, shareMin: 0.5 })),
    lineIfAny('valid_to', choose(columns, 'to', { check: asDate, shareMin: 0.5 })),
  ];
  const used = [...parts, quantity?.column];
  const unused = columns.filter((column) => !used.includes(column) && column.values.length > 0);
  return {
    to: 'bom_item',
    reason,
    key: keyLine(key, parts, columns),
    refs: [
      product === null
        ? missing('product', 'no column has a known name for the product that an item belongs to', unused)
        : productLine(product, component),
      component === null
        ? missing('part', 'no column has a known name for the part of a product', unused)
        : lineOf('part', component, 'the key of a material or product, whichever has it'),
    ],
    fields: [
      quantity === null
        ? missing('quantity', 'required, and no column has a known name of a quantity', unused)
        : quantityLine(quantity),
      ...optional.filter((line) => line !== null),
    ],
  };
}

/** Without a known part, the column may name the part of each item. */
function productLine(product: Choice, component: Choice | null): ProposedLine {
  const what = 'the key of a product, as the mapping of products gives it';
  if (component !== null) return lineOf('product', product, what);
  return { ...lineOf('product', product, `${what}; keep it if it is not the part`), isTodo: true };
}

function unitLine(columns: readonly Column[]): ProposedLine | null {
  const choice = choose(columns, 'unit', { check: asUnit });
  if (choice === null) return leftOut('unit', 'no column has a known name of a unit; pieces are "C62"');
  const { taken, of } = choice.checked;
  const cure = taken === of ? undefined : 'add the others to `units` of the source';
  return { ...lineOf('unit', choice, cure), isTodo: taken < of };
}

function quantityLine(choice: Choice): ProposedLine {
  if (!isAmbiguousDecimal(choice.column)) return lineOf('quantity', choice);
  const { access } = choice.column;
  const example = choice.column.values.find((value) => value.includes('.')) ?? '';
  const reason = `read as a number a little above ${example.split('.')[0]}; if ${example} means ${example.replaceAll('.', '')}, write decimal(${access}, ",")`;
  return { name: 'quantity', expression: guarded(choice.column, `decimal(${access})`), reason, isTodo: true };
}
