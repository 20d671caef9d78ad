import type { OperationName } from '../api/endpoints.ts';
import type { Operation } from '../api/operation.ts';
import type { Collections, IdScheme, ResourceId } from '../items/collection.ts';

export type Operations = Record<OperationName, Operation>;

/** What a lie can read and change besides the operations. */
export interface LieParts {
  collections: Collections;
  ids: IdScheme;
}

/** One way in which a platform answers that something happened, which did not happen or happened otherwise. */
export interface Lie {
  /** The sentence of the manual. */
  describe: string;
  /** True if two items get the same natural key, which only storage in memory can hold. */
  doubles?: true;
  /** Returns the operations that take the place of the honest ones. */
  tell(honest: Operations, parts: LieParts): Partial<Operations>;
}

/** Replaces the work of an operation. */
export function instead(operation: Operation, execute: Operation['execute']): Operation {
  return { ...operation, execute };
}

/** The largest id of a sandbox with numbers. No test makes so many items. */
const NUMBERS_END = 900_000_000;

/** Makes ids that no item has. */
export function createNobodysIds({ freshUuid }: Pick<IdScheme, 'freshUuid'>): () => ResourceId {
  let last = NUMBERS_END;
  return () => {
    last += 1;
    return freshUuid() ?? last;
  };
}
