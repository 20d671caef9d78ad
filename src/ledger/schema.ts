// The present schema of the ledger. The steps that give an older ledger the same tables: `upgrade-steps.ts`.

import { readFileSync } from 'node:fs';

/** Reads `schema.sql`, the present schema of the ledger. The build puts that file beside the bundles. */
export function readSchema(): string {
  return readFileSync(new URL('schema.sql', import.meta.url), 'utf8');
}
