import { err, ok, type Result } from '../../lib/result.ts';
import { type OperationRequest, textMember } from '../api/operation.ts';
import type { Entity, PassportCollections } from './collection.ts';
import type { IdScheme } from './ids.ts';

/** `none` stands for a product without a passport, and is never stored. */
export const PASSPORT_STATES = ['none', 'initialized', 'published', 'unpublished'] as const;
export type PassportState = (typeof PASSPORT_STATES)[number];

export const PASSPORT_ACTIONS = ['init', 'publish', 'unpublish'] as const;
export type PassportAction = (typeof PASSPORT_ACTIONS)[number];

/** none → initialized → published ⇄ unpublished. A text explains in the 409 why an action is not possible. */
const TRANSITIONS: Record<PassportState, Record<PassportAction, { to: PassportState } | string>> = {
  none: {
    init: { to: 'initialized' },
    publish: 'The product has no passport yet. Initialize it first.',
    unpublish: 'The product has no passport yet.',
  },
  initialized: {
    init: 'The passport is initialized already.',
    publish: { to: 'published' },
    unpublish: 'The passport is not published.',
  },
  published: {
    init: 'The passport is initialized already.',
    publish: 'The passport is published already.',
    unpublish: { to: 'unpublished' },
  },
  unpublished: {
    init: 'The passport is initialized already.',
    publish: { to: 'published' },
    unpublish: 'The passport is unpublished already.',
  },
};

/** The state after an action, or why the action is not possible. */
export function nextState(state: PassportState, action: PassportAction): Result<PassportState, string> {
  const transition = TRANSITIONS[state][action];
  return typeof transition === 'string' ? err(transition) : ok(transition.to);
}

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
