import type { StreamAccount } from './ports/ledger/ledger-views.ts';

/** The warnings of reads, each with its stream, for `sync`, `status` and the dashboard. */
export function runWarnings(accounts: readonly Pick<StreamAccount, 'source' | 'stream' | 'warnings'>[]): string[] {
  return accounts.flatMap(({ source, stream, warnings }) => warnings.map((text) => `${source}/${stream}: ${text}`));
}
