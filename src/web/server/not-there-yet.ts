import type { PeopleLedger } from '../../domain/ports/people-ledger.ts';

/** Stands in for what people leave in the ledger until the ledger has it. */
export function emptyPeople(): PeopleLedger {
  let actions = 0;
  return {
    beginAction: async () => ++actions,
    endAction: async () => undefined,
    noteCause: async () => undefined,
    setLookupValue: async () => ({ records: 0 }),
    removeLookupValue: async () => ({ records: 0 }),
  };
}
