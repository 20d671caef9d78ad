import { NO_FORMS } from '../../../src/domain/delivery/wire-form.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { LedgerContext } from '../../../src/ledger/store/tx.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { NO_CONTACT, NO_PASSPORTS, plainEncode, plainEncodeImport, TARGET } from './ledger.ts';

/** What the functions of a ledger take, for tests that call them directly. */
export function ledgerContext(given: Pick<LedgerContext, 'db'> & Partial<LedgerContext>): LedgerContext {
  return {
    clock: systemClock,
    profile: Profile.parse({}),
    forms: NO_FORMS,
    passportRules: NO_PASSPORTS,
    contactRules: NO_CONTACT,
    guardOf: () => null,
    encode: plainEncode,
    encodeImport: plainEncodeImport,
    epoch: 'e',
    target: TARGET,
    ...given,
  };
}
