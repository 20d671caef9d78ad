import type { Operation } from '../../domain/delivery/operation.ts';
import { unconfirmedPolicy } from '../../domain/delivery/unconfirmed-policy.ts';
import type { Profile } from '../../domain/profile.ts';
import type { ApiHealth } from './api-health.ts';

/**
 * While 503s come, sends one at a time of the writes that nobody can look up, such as BOM items. A 503 may hide that the
 * write took effect, so each one that meets a limit becomes unconfirmed and needs a person.
 */
export interface LoneWrites {
  /** True if a write with this operation has to wait for the end of another one. */
  waits(operation: Operation): boolean;
  /** True if the API must first answer a question, because the write would find out whether a limit accepts requests again. */
  asksFirst(operation: Operation): boolean;
  /** Call it when a write was admitted. Returns a function that ends it. */
  begin(operation: Operation): () => void;
}

export function createLoneWrites({
  health,
  profile,
}: {
  health: Pick<ApiHealth, 'sees503s' | 'isStoppedBy503'>;
  profile: Profile;
}): LoneWrites {
  const inFlight = new Set<symbol>();
  const isUnreadable = (operation: Operation): boolean => unconfirmedPolicy(operation, profile) === 'person';
  return {
    waits: (operation) => inFlight.size > 0 && isUnreadable(operation) && health.sees503s(),
    asksFirst: (operation) => isUnreadable(operation) && health.isStoppedBy503(),
    begin(operation) {
      if (!isUnreadable(operation)) return () => undefined;
      const one = Symbol(operation);
      inFlight.add(one);
      return () => void inFlight.delete(one);
    },
  };
}
