import { wireFormsOf } from '../api/wire-forms.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { Target } from '../domain/ports/target.ts';
import { openSqliteLedger, type SqliteLedger } from '../ledger/sqlite-ledger.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

interface LedgerOptions {
  config: RuntimeConfig;
  /** The command that opens the ledger. Other processes name it in their fault `ledger.held`. */
  command: string;
  /** A reload changes this object. */
  rules: PassportRules;
  clock: Clock;
  log: Logger;
  /** Reports how a ledger of an older version is upgraded. Without it, the log reports it. */
  reportUpgrade?: ((fields: object, message: string) => void) | undefined;
}

/** Opens the ledger of a config. The ledger gets the rules from the config, and encodes requests for the platform. */
export function openLedger(
  { config, command, clock, log, reportUpgrade, rules }: LedgerOptions,
  target: Target,
): SqliteLedger {
  return openSqliteLedger({
    file: config.ledger,
    target: config.target.baseUrl,
    profile: config.profile,
    passportRules: rules,
    guardOf: (source) => config.sources.find(({ id }) => id === source)?.guard ?? null,
    contactRules: { firstContact: config.target.firstContact, bom: config.target.bom },
    clock,
    command,
    forms: wireFormsOf(config.profile),
    encode: target.encode.bind(target),
    encodeImport: target.encodeImport.bind(target),
    report: reportUpgrade ?? ((fields, message) => log.info(fields, message)),
  });
}
