import { wireFormsOf } from '../api/encode.ts';
import { passportRulesOf } from '../config/loaded-config.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { Target } from '../domain/ports/target.ts';
import { createLedgerReader } from '../ledger/reader/ledger-reader.ts';
import { openSqliteLedger, type SqliteLedger, type SqliteLedgerOptions } from '../ledger/sqlite-ledger.ts';
import { closeInOrder } from '../lib/errors.ts';
import { hasBounds, keepPolicy } from './plan/held-runs.ts';
import { type Mappers, withValuesByHand } from './sources/mappers.ts';
import type { RuntimeConfig } from './sources/open-source.ts';

/** The ledger of a process that writes to it, and its readers. */
export interface OpenedLedger {
  ledger: SqliteLedger;
  /** The rules for passports. A reload changes this object. */
  rules: PassportRules;
  /** The reader of the ledger: in a daemon a separate thread, which starts at the first question. */
  reads: Reads;
  /** Counts for the metrics, which another separate thread reads. */
  counting: Pick<Reads, 'sourceCounts'>;
  /** How many deliveries were being sent when the last process ended. */
  voided: number;
  close(): Promise<void>;
}

interface OpenLedgerOptions extends Required<Pick<SqliteLedgerOptions, 'command' | 'clock' | 'report'>> {
  config: RuntimeConfig;
  target: Target;
  mappers: Mappers;
  /** True to read the ledger in a separate thread, so that no answer takes time of the thread that syncs. */
  readsApart: boolean;
  /** False in a rehearsal, which uses the policy of the config to count what it does. */
  keepsPolicy: boolean;
  openLog?: NonNullable<SqliteLedgerOptions['openLog']>;
}

/**
 * Takes the lock of the ledger, marks as unconfirmed what the last process was sending, and stores the lookup tables of the
 * config.
 *
 * @throws Fault of the ledger, as `openSqliteLedger` does
 */
export async function openLedger(options: OpenLedgerOptions): Promise<OpenedLedger> {
  const { config, target, mappers, command, clock, report } = options;
  const forms = wireFormsOf(config.profile);
  const rules = passportRulesOf(config);
  const opened = openSqliteLedger({
    file: config.ledger,
    target: config.target.baseUrl,
    profile: config.profile,
    passportRules: rules,
    guardOf: (source) => config.sources.find(({ id }) => id === source)?.guard ?? null,
    contactRules: { firstContact: config.target.firstContact, bom: config.target.bom },
    clock,
    command,
    forms,
    encode: target.encode.bind(target),
    encodeImport: target.encodeImport.bind(target),
    report,
    ...(options.openLog === undefined ? {} : { openLog: options.openLog }),
  });
  const readBy = { file: config.ledger, ledgerId: opened.id, forms, passportRules: () => rules, clock };
  const reader = options.readsApart ? createLedgerReader(readBy) : null;
  // Counts have a separate reader, because counting a million items takes long and a page must not wait for it.
  const counter = createLedgerReader({ ...readBy, warms: false });

  async function close(): Promise<void> {
    // The readers close before the ledger, because the log is removed when the last connection is closed.
    await closeInOrder([async () => reader?.close(), () => counter.close(), () => opened.close()]);
  }

  try {
    const ledger = await withValuesByHand(opened, mappers);
    const { voided } = await ledger.recover(config.profile.settlingDelayMs.reset);
    if (options.keepsPolicy) await keepPolicy({ config, rules, ledger });
    // With bounds, changed rows of a lookup file count for the run or the reload that begins to use them.
    await ledger.defineLookups(mappers.lookups(), { isAll: true, keepsRows: hasBounds(config) });
    return { ledger, rules, reads: reader?.reads ?? ledger.reads, counting: counter.reads, voided, close };
  } catch (error) {
    await close();
    throw error;
  }
}
