import type { ItemKind } from '../../domain/item.ts';
import { formatCount, plural } from '../style.ts';
import { type Choice, choose, describeChoice, guarded, named } from './choose-column.ts';
import type { Column } from './columns.ts';
import type { FoundKey } from './key-columns.ts';
import {
  asCountry,
  asDate,
  asDecimal,
  asGtin,
  asText,
  asUnit,
  type CheckedExpression,
  isAmbiguousDecimal,
} from './value-checks.ts';

/** A line of a mapping: an expression, and why it is proposed. */
export interface ProposedLine {
  name: string;
  /** Null where no column was found. */
  expression: string | null;
  reason: string;
  /** True if a person has to look at it. */
  isTodo: boolean;
}

/** A mapping for the records of one stream. */
export interface ProposedMapping {
  to: ItemKind;
  /** Why this kind. */
  reason: string;
  key: ProposedLine;
  refs: ProposedLine[];
  fields: ProposedLine[];
}

/**
 * Proposes what the records of a stream become. Each line says what shows it; where no column is certain, the line says
 * what is to be done.
 *
 * @param name of the stream or the file, which may say what the records are
 */
export function proposeMapping(columns: readonly Column[], key: FoundKey | null, name: string): ProposedMapping {
  const bom = bomColumns(columns);
  if (bom !== null) {
    const { product, component } = bom;
    const reason = `records name a product (${product.column.label}), a part (${component.column.label}) and a quantity`;
    return proposeBomItem(columns, key, { ...bom, reason });
  }
  if (BOM_NAME.test(name)) {
    const none = { product: null, component: null, quantity: null };
    return proposeBomItem(columns, key, { ...none, reason: 'the name of the file says so' });
  }
  const isMaterial = /material|werkstoff|rohstoff|matiere|grondstof|materia/i.test(name);
  return proposeArticle(columns, key, isMaterial ? 'material' : 'product');
}

const BOM_NAME =
  /bills?.?of.?material|(?<![a-z])boms?(?![a-z])|bom_?(?:lines?|items?)|st(?:ue|ü)ckliste|nomenclature|stuklijst|distinta/i;

interface BomColumns {
  product: Choice;
  component: Choice;
  quantity: Choice;
}

/** A record is a BOM item if it names a product, a part of it and a quantity. */
function bomColumns(columns: readonly Column[]): BomColumns | null {
  const quantity = choose(columns, 'quantity', { check: asDecimal, shareMin: 0.5 });
  const product = choose(columns, 'product', { check: asText });
  if (quantity === null || product === null) return null;
  const others = columns.filter((column) => column !== product.column && column !== quantity.column);
  const component = choose(others, 'component', { check: asText });
  const isCertain = [quantity, product, component].every((one) => one?.isExact === true);
  return component !== null && isCertain ? { product, component, quantity } : null;
}

function proposeBomItem(
  columns: readonly Column[],
  key: FoundKey | null,
  {
    product,
    component,
    quantity,
    reason,
  }: { [Part in keyof BomColumns]: BomColumns[Part] | null } & { reason: string },
): ProposedMapping {
  const position = choose(columns, 'position', { check: asText });
  const parts = [product, component, position].flatMap((choice) => (choice === null ? [] : [choice.column]));
  const optional = [
    unitLine(columns),
    lineIfAny('position', position),
    lineIfAny('valid_from', choose(columns, 'from', { check: asDate, shareMin: 0.5 })),
    lineIfAny('valid_to', choose(columns, 'to', { check: asDate, shareMin: 0.5 })),
  ];
  return {
    to: 'bom_item',
    reason,
    key: keyLine(key, parts),
    refs: [
      product === null
        ? missing('product', 'no column is named like the product that an item belongs to')
        : lineOf('product', product, 'the key of a product, as the mapping of products gives it'),
      component === null
        ? missing('part', 'no column is named like the part of a product')
        : lineOf('part', component, 'the key of a material or product, whichever has it'),
    ],
    fields: [
      quantity === null
        ? missing('quantity', 'required, and no column is named like a quantity')
        : quantityLine(quantity),
      ...optional.filter((line) => line !== null),
    ],
  };
}

/** A line that a person has to fill in. */
function missing(name: string, reason: string): ProposedLine {
  return { name, expression: null, reason, isTodo: true };
}

function proposeArticle(columns: readonly Column[], key: FoundKey | null, to: 'product' | 'material'): ProposedMapping {
  const number = choose(columns, 'sku', { check: asText });
  const name = choose(columns, 'name', { check: asText });
  const description = choose(
    columns.filter((column) => column !== name?.column),
    'description',
    { check: asText },
  );
  const shared = [
    numberLine(to === 'product' ? 'sku' : 'code', number, key),
    nameLine(name, columns),
    lineIfAny('description', description),
  ];
  const own = to === 'product' ? productLines(columns, number) : materialLines(columns);
  return {
    to,
    reason:
      to === 'product'
        ? 'nothing says that they are materials or BOM items; change it if they are'
        : 'the name of the file says so; change it if they are products',
    key: keyLine(key, number === null ? [] : [number.column]),
    refs: [],
    fields: [...shared, ...own].filter((line) => line !== null),
  };
}

function productLines(columns: readonly Column[], number: Choice | null): (ProposedLine | null)[] {
  const gtins = choose(columns, 'gtin', { check: asGtin, shareMin: 0.5 }) ?? gtinByContent(columns, number);
  return [statusLine(columns), countryLine('country_of_origin', columns), lineIfAny('gtin', gtins)];
}

function materialLines(columns: readonly Column[]): (ProposedLine | null)[] {
  return [
    lineIfAny('category', choose(columns, 'category', { check: asText })),
    countryLine('origin_country', columns),
    recycledLine(columns),
  ];
}

/** Numbers with a right check digit in every row are GTINs, whatever the column is called. */
function gtinByContent(columns: readonly Column[], number: Choice | null): Choice | null {
  for (const column of columns) {
    if (column === number?.column || column.values.length < 5 || !/^\d{12,14}$/.test(column.values[0] ?? '')) continue;
    const checked = asGtin(column);
    if (checked.taken === checked.of) return { column, checked, isExact: true, others: [] };
  }
  return null;
}

function keyLine(key: FoundKey | null, fallback: readonly Column[]): ProposedLine {
  if (key !== null) {
    const others = key.others.length === 0 ? '' : `; so ${key.others.length === 1 ? 'is' : 'are'} ${named(key.others)}`;
    return { name: 'key', expression: joined(key.columns), reason: `${key.reason}${others}`, isTodo: false };
  }
  if (fallback.length === 0) {
    return { name: 'key', expression: null, reason: 'no column is filled and different in all records', isTodo: true };
  }
  const reason = `not different in all records; add what tells them apart`;
  return { name: 'key', expression: joined(fallback), reason, isTodo: true };
}

function joined(columns: readonly Column[]): string {
  return columns.map(({ access }) => access).join(' + "/" + ');
}

function numberLine(name: string, choice: Choice | null, key: FoundKey | null): ProposedLine {
  if (choice !== null) {
    const { column } = choice;
    const isSound = column.isUnique && column.values.length === column.records;
    const what = isSound
      ? `filled and different in all ${plural(column.records, 'record')}`
      : column.isUnique
        ? ''
        : 'some records have the same value';
    return { ...lineOf(name, choice, what), isTodo: !isSound && name === 'sku' };
  }
  const reason = 'no column is named like a number of articles';
  const [only, ...more] = key?.columns ?? [];
  if (only === undefined || more.length > 0) return { ...missing(name, reason), isTodo: name === 'sku' };
  const others = key?.others ?? [];
  const alike = others.length === 0 ? '' : `; ${named(others)} could be it too`;
  return { name, expression: only.access, reason: `${reason}, so this is the key${alike}`, isTodo: true };
}

function nameLine(choice: Choice | null, columns: readonly Column[]): ProposedLine {
  if (choice !== null) return lineOf('name', choice);
  const reason = 'required, and no column is named like a name';
  const texts = columns.filter(hasText);
  const [only, ...more] = texts;
  if (only === undefined) return missing('name', reason);
  if (more.length > 0) return missing('name', `${reason}; ${named(texts)} have text`);
  const line = { name: 'name', expression: guarded(only, only.access), isTodo: true };
  return { ...line, reason: 'no column is named like a name, and this is the only one with text' };
}

/** True if a good part of the values has several words. */
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

function countryLine(name: string, columns: readonly Column[]): ProposedLine | null {
  return lineIfAny(name, choose(columns, 'country', { check: asCountry, shareMin: 0.5 }));
}

function unitLine(columns: readonly Column[]): ProposedLine {
  const choice = choose(columns, 'unit', { check: asUnit });
  if (choice === null) {
    return {
      name: 'unit',
      expression: null,
      reason: 'no column is named like a unit; pieces are "C62"',
      isTodo: false,
    };
  }
  const { taken, of } = choice.checked;
  const cure = taken === of ? undefined : 'add the others to `units` of the source';
  return { ...lineOf('unit', choice, cure), isTodo: taken < of };
}

function quantityLine(choice: Choice): ProposedLine {
  if (!isAmbiguousDecimal(choice.column)) return lineOf('quantity', choice);
  const { access } = choice.column;
  const example = choice.column.values.find((value) => value.includes('.')) ?? '';
  const reason = `is ${example} a bit more than ${example.split('.')[0]}, or ${example.replaceAll('.', '')}? Then decimal(${access}, ",")`;
  return { name: 'quantity', expression: guarded(choice.column, `decimal(${access})`), reason, isTodo: true };
}

/** A share that is given in percent becomes a fraction. */
function recycledLine(columns: readonly Column[]): ProposedLine | null {
  const choice = choose(columns, 'recycled', { check: asDecimal, shareMin: 0.5 });
  if (choice === null) return null;
  const numbers = choice.column.values.map((value) => Number(value.replace(',', '.')));
  if (!numbers.some((number) => number > 1)) return lineOf('recycled_mass_fraction', choice);
  const { column, checked } = choice;
  const expression = `${column.access} == "" ? null : double(${checked.expression(column.access)}) / 100`;
  const inPercent: CheckedExpression = { ...checked, expression: () => expression };
  return lineOf(
    'recycled_mass_fraction',
    { ...choice, checked: inPercent },
    'some are above 1, so they are taken for percent',
  );
}

function lineIfAny(name: string, choice: Choice | null): ProposedLine | null {
  return choice === null ? null : lineOf(name, choice);
}

/** @param what says more about the column */
function lineOf(name: string, choice: Choice, what?: string): ProposedLine {
  const { column, checked, others } = choice;
  const isComplete = column.values.length === column.records;
  const filled = isComplete
    ? 'filled in all records'
    : `filled in ${formatCount(column.values.length)} of ${plural(column.records, 'record')}`;
  const reasons = [
    describeChoice(choice),
    what ?? '',
    isComplete && (checked.words !== 'texts' || what !== undefined) ? '' : filled,
  ];
  if (others.length > 0) reasons.push(`${named(others)} could be it too`);
  return {
    name,
    expression: guarded(column, checked.expression(column.access)),
    reason: reasons.filter((reason) => reason !== '').join('; '),
    isTodo: checked.taken < checked.of,
  };
}
