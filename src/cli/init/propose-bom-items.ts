import { type Choice, choose, guarded, type ValueCheck } from './choose-column.ts';
import type { Column } from './columns.ts';
import { type Concept, withoutAccents } from './field-names.ts';
import type { FoundKey } from './key-columns.ts';
import {
  keyLine,
  leftOut,
  lineIfAny,
  lineOf,
  missing,
  type ProposedLine,
  type ProposedMapping,
} from './proposed-line.ts';
import { asDate, asDecimal, asText, asUnit, isAmbiguousDecimal } from './value-checks.ts';

/** The columns that make a BOM item of a record; null for a part that no column has for certain. */
interface BomColumns {
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
export function proposeBomItems(
  columns: readonly Column[],
  key: FoundKey | null,
  name: string,
): ProposedMapping | null {
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
  const quantity = chooseExactly(columns, 'quantity', { check: asDecimal, shareMin: 0.5 });
  const named = chooseExactly(columns, 'product', TEXTS);
  const component = chooseExactly(
    columns.filter((column) => column !== named?.column && column !== quantity?.column),
    'component',
    TEXTS,
  );
  const article = chooseExactly(
    columns.filter((column) => column !== component?.column),
    'article',
    TEXTS,
  );
  const product = named ?? (article?.column.isUnique === true ? null : article);
  const isComplete = product !== null && component !== null && quantity !== null;
  const isArticle =
    named === null
      ? chooseExactly(columns, 'name', TEXTS) !== null
      : named.column.isUnique && article?.column.isUnique === true && article.column !== named.column;
  return isNamed || (isComplete && !isArticle) ? { product, component, quantity } : null;
}

const TEXTS: ValueCheck = { check: asText };

/** A column whose whole name is a known one; null if there is none. */
function chooseExactly(columns: readonly Column[], concept: Concept, check: ValueCheck): Choice | null {
  const choice = choose(columns, concept, check);
  return choice?.isExact === true ? choice : null;
}

function proposeBomItem(
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
