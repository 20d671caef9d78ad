import type { PeopleLedger } from '../../domain/ports/people-ledger.ts';
import type { Mappers } from './mappers.ts';

/**
 * The ledger with mappers that follow the values which people give for lookup tables. Records that have used a key wait for the
 * mapping from the commit on; one that is mapped before the mappers have the value is mapped again, because its entry has changed.
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
