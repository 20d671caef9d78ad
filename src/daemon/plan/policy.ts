// With bounds, a changed policy for passports waits for the run or the reload that counts what it does: it could publish or withdraw
// many passports of rows that have not changed.

import { passportRulesOf } from '../../config/loaded-config.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { CareLedger, DaemonNotes } from '../../domain/ports/ledger/care-ledger.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import { hasBounds } from './held-runs.ts';

type Policy = DaemonNotes['policy'];

/** The part of the rules that decides about passports without a changed row. */
function policyOf({ isConfigured, init, publish, withdrawMissingOf }: PassportRules): Policy {
  return { isConfigured, init, publish, withdrawMissingOf: [...withdrawMissingOf] };
}

const isSame = (one: Policy, other: Policy): boolean => JSON.stringify(one) === JSON.stringify(other);

interface PolicyParts {
  config: RuntimeConfig;
  /** The rules in use. */
  rules: PassportRules;
  ledger: Pick<CareLedger, 'noteDaemon'>;
}

/** Lets a process begin with the policy that the last one has used, if the config has bounds. */
export async function keepPolicy({
  config,
  rules,
  ledger,
}: PolicyParts & { ledger: { views: Pick<LedgerViews, 'daemonNote'> } }): Promise<void> {
  const former = ledger.views.daemonNote('policy');
  if (former !== null && hasBounds(config)) Object.assign(rules, former);
  else if (former === null || !isSame(former, policyOf(rules))) await ledger.noteDaemon('policy', policyOf(rules));
}

/** True if the config has another policy than the one in use. */
export const policyWaits = ({ config, rules }: Pick<PolicyParts, 'config' | 'rules'>): boolean =>
  !isSame(policyOf(rules), policyOf(passportRulesOf(config)));

/** Uses the policy of the config. Call it after a run or a reload that has counted what it does. */
export async function usePolicy({ config, rules, ledger }: PolicyParts): Promise<void> {
  if (!policyWaits({ config, rules })) return;
  Object.assign(rules, passportRulesOf(config));
  await ledger.noteDaemon('policy', policyOf(rules));
}
