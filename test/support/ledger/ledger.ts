import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { z } from 'zod';
import { wireFormsOf } from '../../../src/api/encode.ts';
import type { WireForms } from '../../../src/domain/delivery/wire-form.ts';
import type { PassportRules } from '../../../src/domain/passport.ts';
import type { Encode, EncodeImport } from '../../../src/domain/ports/deliveries.ts';
import type { MissingGuard } from '../../../src/domain/ports/guarded-intake.ts';
import type { ContactRules } from '../../../src/domain/ports/ledger/contact-ledger.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { createLogSync } from '../../../src/ledger/file/log-sync.ts';
import { openSqliteLedger, type SqliteLedger, type SqliteLedgerOptions } from '../../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { removeFolder } from '../machine/remove-folder.ts';
import { createManualClock, type ManualClock } from '../time/manual-clock.ts';
import { unordered } from './unordered.ts';

export const TARGET = 'http://127.0.0.1:9';

/** The forms of the default profile. */
export const FORMS: WireForms = wireFormsOf(Profile.parse({}));

/** Encodes a write as its canonical payload, so that tests see the arguments of the ledger. */
export const plainEncode: Encode = ({ operation, payload, refs, remoteId }) => ({
  path: `/${operation}/${remoteId === null ? '' : JSON.stringify(remoteId)}`,
  body: JSON.stringify({ ...payload, ...refs }),
});

/** Makes a list of the payloads of an import, with as many members as the profile allows. */
export const plainEncodeImport: EncodeImport = (members) => ({
  path: '/product.import/',
  body: JSON.stringify(members),
  memberCount: members.length,
});

/** For tests that do not test the first contact: every item may be created. */
export const NO_CONTACT: ContactRules = { firstContact: 'assume-empty', bom: 'create' };

/** For tests that do not test the guard: any number of items may be missing. */
export const GUARDS_NOTHING: MissingGuard = { maxMissing: 1, maxMissingCount: Number.POSITIVE_INFINITY, maxDrop: 1 };

/** Opens a ledger for writing, by default with the default profile. */
export function openLedger(file: string, options: Partial<SqliteLedgerOptions> = {}): SqliteLedger {
  const { profile = Profile.parse({}) } = options;
  return openSqliteLedger({
    file,
    target: TARGET,
    profile,
    forms: wireFormsOf(profile),
    passportRules: NO_PASSPORTS,
    contactRules: NO_CONTACT,
    guardOf: () => GUARDS_NOTHING,
    encode: plainEncode,
    encodeImport: plainEncodeImport,
    clock: systemClock,
    command: 'test',
    openLog(db, log) {
      unordered(db);
      return createLogSync(db, log);
    },
    ...options,
  });
}

export interface LedgerFixture {
  ledger: SqliteLedger;
  clock: ManualClock;
  file: string;
  /**
   * Closes the ledger and opens it again on the same file, as a new process does, with another profile or other rules
   * for passports if these are given.
   */
  reopen(settings?: z.input<typeof Profile>, rules?: Partial<PassportRules>): Promise<SqliteLedger>;
  remove(): Promise<void>;
}

/** No passports are made or published. */
export const NO_PASSPORTS: PassportRules = {
  isConfigured: true,
  init: 'manual',
  publish: 'manual',
  sources: ['erp'],
  partSources: ['erp'],
  bomSources: ['erp'],
  withdrawMissingOf: [],
  mappedFields: [],
};

/** No source has materials or BOM items. */
export const NO_PARTS: Partial<PassportRules> = { partSources: [], bomSources: [] };

export interface LedgerFixtureOptions {
  encode?: Encode;
  rules?: Partial<PassportRules>;
  contactRules?: ContactRules;
  guardOf?: (source: string) => MissingGuard | null;
}

export function createLedgerFixture({
  encode = plainEncode,
  rules = {},
  contactRules = NO_CONTACT,
  guardOf = () => GUARDS_NOTHING,
}: LedgerFixtureOptions = {}): LedgerFixture {
  let profile = Profile.parse({});
  let passportRules = { ...NO_PASSPORTS, ...rules };
  const folder = mkdtempSync(join(tmpdir(), 'dpp-ledger-'));
  const file = join(folder, 'ledger.db');
  const clock = createManualClock(Date.UTC(2027, 0, 15, 2, 30));
  const open = () => openLedger(file, { profile, passportRules, contactRules, guardOf, encode, clock });
  const fixture: LedgerFixture = {
    ledger: open(),
    clock,
    file,
    async reopen(changed, otherRules) {
      await fixture.ledger.close();
      if (otherRules) passportRules = { ...passportRules, ...otherRules };
      if (changed) profile = Profile.parse(changed);
      fixture.ledger = open();
      return fixture.ledger;
    },
    async remove() {
      await fixture.ledger.close();
      await removeFolder(folder);
    },
  };
  return fixture;
}

/** Gives each test of a file or of a `describe` a new ledger, and removes it after the test. */
export function useLedger(options?: LedgerFixtureOptions): Omit<LedgerFixture, 'remove'> {
  let current: LedgerFixture;
  beforeEach(() => {
    current = createLedgerFixture(options);
  });
  afterEach(() => current.remove());
  return {
    get ledger() {
      return current.ledger;
    },
    get clock() {
      return current.clock;
    },
    get file() {
      return current.file;
    },
    reopen: (settings, rules) => current.reopen(settings, rules),
  };
}
