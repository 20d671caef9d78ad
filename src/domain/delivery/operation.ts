import type { ItemKind } from '../item.ts';

/**
 * The writes that the API knows or that an item can need. `product.update` and `bom_item.update` have no endpoint:
 * changed products are sent together as one `product.import` if the profile says that an import updates.
 */
export const OPERATIONS = [
  'product.create',
  'product.update',
  'product.import',
  'material.create',
  'material.update',
  'bom_item.create',
  'bom_item.update',
  'passport.init',
  'passport.publish',
  'passport.unpublish',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** The kind of item that an operation is about. An operation on a passport is about its product. */
export function kindOf(operation: Operation): ItemKind {
  const subject = operation.slice(0, operation.indexOf('.'));
  return subject === 'passport' ? 'product' : (subject as ItemKind);
}
