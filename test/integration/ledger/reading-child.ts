// Asks the reading thread of a ledger for a run, and prints the answer. The arguments are the file and the id of the
// ledger.

import { wireFormsOf } from '../../../src/api/encode.ts';
import type { PassportRules } from '../../../src/domain/passport.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { createLedgerReader } from '../../../src/ledger/reader/ledger-reader.ts';
import { systemClock } from '../../../src/lib/clock.ts';

const RULES: PassportRules = {
  isConfigured: true,
  init: 'manual',
  publish: 'manual',
  sources: [],
  partSources: [],
  bomSources: [],
  withdrawMissingOf: [],
  mappedFields: [],
};
const [file = '', ledgerId = ''] = process.argv.slice(2);
const reader = createLedgerReader({
  file,
  ledgerId,
  forms: wireFormsOf(Profile.parse({})),
  passportRules: () => RULES,
  clock: systemClock,
});
const outcome = await reader.reads.run(1).catch((error: unknown) => String(error));
process.stdout.write(JSON.stringify(outcome));
await reader.close();
