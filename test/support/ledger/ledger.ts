import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { z } from 'zod';
import type { Item } from '../../../src/domain/item.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { PassportRules } from '../../../src/domain/passport.ts';
import type {
  ClaimedDelivery,
  ClaimedRequest,
  ClaimName,
  DeliveryName,
  Encode,
  EncodeImport,
  ToClaim,
} from '../../../src/domain/ports/claim.ts';
import type { Decision, Settled, Settlement } from '../../../src/domain/ports/decision.ts';
import type { ContactRules } from '../../../src/domain/ports/first-contact.ts';
import type { MissingGuard } from '../../../src/domain/ports/intake.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { type IncomingRecord, serializeFields } from '../../../src/domain/record.ts';
import { openSqliteLedger, type SqliteLedger, type SqliteLedgerOptions } from '../../../src/ledger/sqlite-ledger.ts';
import { createBitmap } from '../../../src/lib/bitmap.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { createManualClock, type ManualClock } from '../time/manual-clock.ts';

export const TARGET = 'http://127.0.0.1:9';

/** Writes canonical terms as they are, so that tests see what the ledger asked to be encoded. */
export const plainEncode: Encode = ({ operation, payload, refs, remoteId }) => ({
  path: `/${operation}/${remoteId === null ? '' : JSON.stringify(remoteId)}`,
  body: JSON.stringify({ ...payload, ...refs }),
});

/** The payloads of an import as a list, of as many members as the profile allows. */
export const plainEncodeImport: EncodeImport = (members) => ({
  path: '/product.import/',
  body: JSON.stringify(members),
  memberCount: members.length,
});

/** For tests of other things than first contact: whatever is staged may be created. */
export const NO_CONTACT: ContactRules = { firstContact: 'assume-empty', bom: 'create' };

/** For tests of other things than the guard: any number of items may go missing. */
export const GUARDS_NOTHING: MissingGuard = { maxMissing: 1, maxDrop: 1 };

/** Opens a ledger for writing, with the default profile where no other is given. */
export function openLedger(file: string, options: Partial<SqliteLedgerOptions> = {}): SqliteLedger {
  return openSqliteLedger({
    file,
    target: TARGET,
    profile: Profile.parse({}),
    passportRules: NO_PASSPORTS,
    contactRules: NO_CONTACT,
    guardOf: () => GUARDS_NOTHING,
    encode: plainEncode,
    encodeImport: plainEncodeImport,
    clock: systemClock,
    command: 'test',
    ...options,
  });
}

export interface LedgerFixture {
  ledger: SqliteLedger;
  clock: ManualClock;
  file: string;
  /**
   * Closes the ledger and opens it again on the same file, as after the end of the process; perhaps under another profile or
   * other rules for passports.
   */
  reopen(settings?: z.input<typeof Profile>, rules?: Partial<PassportRules>): Promise<SqliteLedger>;
  remove(): Promise<void>;
}

/** Nobody asks for passports. */
export const NO_PASSPORTS: PassportRules = {
  init: 'manual',
  publish: 'manual',
  sources: ['erp'],
  partSources: ['erp'],
  bomSources: ['erp'],
  withdrawMissingOf: [],
};

/** No source gives materials or BOM items. */
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
      rmSync(folder, { recursive: true });
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

export function row(identity: string, fields: JsonObject = {}, line = 1): IncomingRecord {
  return { identity, ...serializeFields({ id: identity, ...fields }), place: { file: 'test.csv', line }, issues: [] };
}

export interface Export {
  stream?: string;
  rows: IncomingRecord[];
  revision?: string;
  snapshot?: boolean;
  /** As for a stream without a key. */
  deferMapping?: boolean;
  /** False for a source with `onMissing: ignore`. */
  flagItems?: boolean;
}

/** One whole run over one stream; gives its id and what `endStream` said. */
export async function pullRows(
  ledger: SqliteLedger,
  { stream = 'default', rows, revision = 'r1', snapshot = true, deferMapping = false, flagItems = true }: Export,
) {
  const { runId } = await ledger.startRun({
    source: 'erp',
    trigger: 'cli',
    streams: [stream],
    mappingRevision: revision,
  });
  const seen = createBitmap();
  const page = await ledger.stagePage({
    runId,
    source: 'erp',
    stream,
    records: rows,
    seen,
    deferMapping,
    uncounted: 0,
  });
  const end = await ledger.endStream({
    runId,
    source: 'erp',
    stream,
    seen: snapshot ? seen : null,
    read: rows.length,
    flagItems,
    guard: { maxMissing: 0.5, maxDrop: 0.5 },
    uncounted: page.counted ? 0 : rows.length,
  });
  await ledger.endRun({ runId, result: 'complete' });
  return { runId, ...page, ...end };
}

/** One run over rows with these ids, each of which is mapped to its result. */
export async function stageRows(ledger: SqliteLedger, results: Record<string, MapResult>): Promise<void> {
  // The version makes a row that maps otherwise a changed one.
  const rows = Object.entries(results).map(([id, result]) => row(id, { version: JSON.stringify(result) }));
  await pullRows(ledger, { rows });
  await mapRows(ledger, ({ id }) => results[text(id)] ?? { status: 'excluded' });
}

/** Maps everything that waits with a function from fields to a result, and stages it. */
export async function mapRows(ledger: SqliteLedger, map: (fields: JsonObject) => MapResult) {
  const records = await ledger.pendingRecords({ source: 'erp', afterId: 0, limit: 10_000 });
  return ledger.stage(records.map(({ id, version, fields }) => ({ id, version, result: map(fields) })));
}

export function items(...list: Item[]): MapResult {
  return { status: 'mapped', items: list.map((item) => ({ ...item, mapping: 0 })) };
}

export function product(key: string, name = `Product ${key}`): Item {
  return { kind: 'product', key, payload: { sku: `SKU-${key}`, name }, refs: [] };
}

export function material(key: string, name = `Material ${key}`): Item {
  return { kind: 'material', key, payload: { code: `M-${key}`, name }, refs: [] };
}

export function bomItem(key: string, productKey: string, materialKey: string, quantity = '1'): Item {
  const refs: Item['refs'] = [
    { role: 'product', kind: 'product', key: productKey },
    { role: 'material', kind: 'material', key: materialKey },
  ];
  return { kind: 'bom_item', key, payload: { quantity }, refs };
}

/** Claims and settles everything that is due, giving each create the next remote id. */
export async function deliverAll(
  ledger: SqliteLedger,
  firstId = 100,
): Promise<{ operation: string; key: string; body: string | null }[]> {
  const sent: { operation: string; key: string; body: string | null }[] = [];
  let remoteId = firstId;
  for (;;) {
    const due = await ledger.dueDeliveries({ afterId: 0, limit: 1000 });
    if (due.length === 0) return sent;
    for (const { id } of due) {
      const claim = await claimOne(ledger, id);
      if (claim.status !== 'claimed') continue;
      const { operation, key, body } = claim.delivery;
      sent.push({ operation, key, body });
      remoteId += 1;
      const created = operation.endsWith('.create') ? remoteId : null;
      const decision: Decision = { kind: 'delivered', remoteId: created, contentKnown: true, by: 'answer' };
      const settlements = claim.delivery.members.map((member) => ({ ...member, decision }));
      await ledger.settle([{ claim: claim.delivery, settlements, keep: false, groupMax: null }]);
      for (const member of settlements) claims.get(ledger)?.delete(member.id);
    }
  }
}

/** A field that a test has written as text. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The last claim of each delivery, so that a test settles what it has claimed. */
const claims = new WeakMap<object, Map<number, ClaimName>>();

export type ClaimedOne =
  | {
      status: 'claimed';
      delivery: ClaimedDelivery & Omit<ClaimedRequest, 'members'> & { again: boolean; members: ClaimedDelivery[] };
    }
  | { status: 'gone' };

type Viewed<T> = T & { views?: SqliteLedger['views'] };

/** Without a revision the one that the delivery has now. */
function nameOf({ views }: Viewed<object>, { id, revision }: { id: number; revision?: number }): DeliveryName {
  return { id, revision: revision ?? views?.delivery(id)?.revision ?? 0 };
}

/** Deliveries that are claimed as requests of their own; changed products as one import. */
export function alone(deliveries: readonly DeliveryName[]): ToClaim {
  return { deliveries, asImport: false };
}

/** Deliveries that are claimed as one import. */
export function together(deliveries: readonly DeliveryName[]): ToClaim {
  return { deliveries, asImport: true };
}

/** A new product as a claim returns it. */
export function claimedProduct({ id, groupMax = null }: { id: number; groupMax?: number | null }): ClaimedDelivery {
  const name = { id, kind: 'product', key: `P${id}`, revision: 1, operation: 'product.create', source: 'erp' } as const;
  const known = { remoteId: null, attempts: 0, uncertain: false, busySince: null, awaySince: null };
  return { ...name, ...known, naturalKey: `SKU-${id}`, groupMax };
}

/** Claims one delivery, by its id or its name. */
export async function claimOne(
  ledger: Viewed<Pick<SqliteLedger, 'claim'>>,
  delivery: number | DeliveryName,
): Promise<ClaimedOne> {
  const name = typeof delivery === 'number' ? nameOf(ledger, { id: delivery }) : delivery;
  const { id } = name;
  const [claimed] = await ledger.claim([alone([name])]);
  if (claimed === undefined) return { status: 'gone' };
  const { members, request, sends } = claimed;
  const known = claims.get(ledger) ?? new Map<number, ClaimName>();
  claims.set(ledger, known);
  for (const member of members) known.set(member.id, { request, sends });
  const own = members.find((member) => member.id === id);
  if (own === undefined) throw new Error(`The claim of ${id} does not hold it.`);
  return { status: 'claimed', delivery: { ...own, ...claimed, again: sends > 1, members } };
}

/** Settles one delivery: what was claimed by its claim, anything else as it was read back. */
export async function settleOne(
  ledger: Viewed<Pick<SqliteLedger, 'settle'>>,
  settlement: Omit<Settlement, 'revision'> & { revision?: number },
): Promise<Settled> {
  const { id } = settlement;
  const own = claims.get(ledger)?.get(id) ?? null;
  claims.get(ledger)?.delete(id);
  const settlements = [{ ...settlement, ...nameOf(ledger, settlement) }];
  const [settled] = await ledger.settle([{ claim: own, settlements, keep: true, groupMax: null }]);
  if (settled === undefined) throw new Error(`Nothing came of settling ${id}.`);
  return settled;
}
