import { type Choice, choose, guarded } from './choose-column.ts';
import type { Column } from './columns.ts';
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

interface BomColumns {
  product: Choice;
  component: Choice;
  quantity: Choice;
}

const BOM_NAME =
  /bills?.?of.?material|(?<![a-z])boms?(?![a-z])|bom_?(?:lines?|items?)|st(?:ue|ü)ckliste|nomenclature|stuklijst|distinta/i;

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
  const bom = bomColumns(columns);
  if (bom !== null) {
    const { product, component } = bom;
    const reason = `records name a product (${product.column.label}), a part (${component.column.label}) and a quantity`;
    return proposeBomItem(columns, key, { ...bom, reason });
  }
  if (!BOM_NAME.test(name)) return null;
  const none = { product: null, component: null, quantity: null };
  return proposeBomItem(columns, key, { ...none, reason: 'the name of the file says so' });
}

/** The column that names the product of each BOM item; null if the columns do not show that the records are BOM items. */
export function productOfBomItems(columns: readonly Column[]): Column | null {
  return bomColumns(columns)?.product.column ?? null;
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
    key: keyLine(key, parts, columns),
    refs: [
      product === null
        ? missing('product', 'no column has a known name for the product that an item belongs to')
        : lineOf('product', product, 'the key of a product, as the mapping of products gives it'),
      component === null
        ? missing('part', 'no column has a known name for the part of a product')
        : lineOf('part', component, 'the key of a material or product, whichever has it'),
    ],
    fields: [
      quantity === null
        ? missing('quantity', 'required, and no column has a known name of a quantity')
        : quantityLine(quantity),
      ...optional.filter((line) => line !== null),
    ],
  };
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
  const reason = `is ${example} a bit more than ${example.split('.')[0]}, or ${example.replaceAll('.', '')}? Then decimal(${access}, ",")`;
  return { name: 'quantity', expression: guarded(choice.column, `decimal(${access})`), reason, isTodo: true };
}
