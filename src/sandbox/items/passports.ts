import { type OperationRequest, textMember } from '../api/operation.ts';
import type { Entity } from './collection.ts';
import type { PassportCollections } from './collections.ts';
import type { IdScheme } from './ids.ts';
import { PASSPORT_STATES, type PassportState } from './passport-states.ts';

/** The product that a path names, within the caller's organisation. */
export function productIn(
  { products }: Pick<PassportCollections, 'products'>,
  ids: IdScheme,
  { organizationId, params }: Pick<OperationRequest, 'organizationId' | 'params'>,
): Entity | undefined {
  const id = ids.fromPath(params['product_id'] ?? '');
  return id === null ? undefined : products.get(organizationId, id);
}

/** The state of a product's passport; `none` where it has none. */
export function stateOf(passport: Entity | undefined): PassportState {
  const status = textMember(passport?.fields, 'status');
  return PASSPORT_STATES.find((state) => state === status) ?? 'none';
}
