import type { LeftToSend } from '../observe/standing.ts';
import type { Runtime } from './runtime.ts';

/** What is still to be sent, from the ledger and from the requests of people that are not in the ledger yet. */
export async function leftToSend({ reads, passports }: Pick<Runtime, 'reads' | 'passports'>): Promise<LeftToSend> {
  // What is requested is read first: what is stored meanwhile may then count twice, and is never left out.
  const requested = passports.requested();
  return { ...(await reads.openDeliveries()), requested };
}
