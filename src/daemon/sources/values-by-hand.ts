import type { PeopleLedger } from '../../domain/ports/ledger/people-ledger.ts';
import type { Mappers } from './mappers.ts';

/**
 * Passes each value that a person gives for a lookup table on to the mappers, after the ledger has stored it. That
 * commit makes the records that have used the key wait for the mapping. A record that is mapped after the commit and
 * before the mappers have the value is mapped again, because its lookup entry has changed.
 */
export async function withValuesByHand<Ledger extends PeopleLedger>(
  ledger: Ledger,
  mappers: Pick<Mappers, 'useValues'>,
): Promise<Ledger> {
  const follow = async () => mappers.useValues(await ledger.valuesByHand());
  await follow();
  return {
    ...ledger,
    async setLookupValue(value) {
      const set = await ledger.setLookupValue(value);
      await follow();
      return set;
    },
    async removeLookupValue(lookup, key) {
      const removed = await ledger.removeLookupValue(lookup, key);
      await follow();
      return removed;
    },
  };
}
