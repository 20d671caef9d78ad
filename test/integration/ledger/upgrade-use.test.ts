import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedRequest, Decision } from '../../../src/domain/ports/deliveries.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import type { SqliteLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { alone, delivered } from '../../support/ledger/deliveries.ts';
import { createFrozenLedger, LATER, LATER_STEPS } from '../../support/ledger/frozen-ledger.ts';
import { NO_PASSPORTS, openLedger } from '../../support/ledger/ledger.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { createManualClock, type ManualClock } from '../../support/time/manual-clock.ts';

// Works with an upgraded ledger until no automatic work is left: which requests are sent, and under which keys.

let folder: string;
let file: string;
let ledger: SqliteLedger;
let clock: ManualClock;
/** The request that the older version had stored for each open delivery; null if it was not sent yet. */
let stored: Map<string, Stored | null>;

interface Stored {
  state: string;
  operation: string;
  key: string;
  path: string;
  body: string;
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dpp-upgrade-use-'));
  file = join(folder, 'ledger.db');
  createFrozenLedger(file);
  stored = new Map(
    rows(`SELECT i.kind || ' ' || i.key AS name, i.state, r.operation, r.idempotency_key AS key, r.path, r.body
      FROM items i LEFT JOIN requests r ON r.id = i.request_id WHERE i.state NOT IN ('delivered', 'superseded')`).map(
      ({ name, ...request }) => [String(name), request['key'] === null ? null : (request as unknown as Stored)],
    ),
  );
  clock = createManualClock(LATER + 1);
  const passportRules = {
    ...NO_PASSPORTS,
    init: 'when-complete',
    publish: 'auto',
    partSources: [],
    bomSources: [],
  } as const;
  ledger = openLedger(file, { clock, passportRules, steps: LATER_STEPS });
  await ledger.recover(0);
});
afterEach(async () => {
  await ledger.close();
  await removeFolder(folder);
});

interface Sent extends Omit<ClaimedRequest, 'members'> {
  names: string[];
}

/** Claims all that is due, and settles it as the API would answer, until nothing is due. */
async function sendAll(settle: (sent: ClaimedRequest) => Decision): Promise<Sent[]> {
  const sent: Sent[] = [];
  for (;;) {
    const due = await ledger.dueDeliveries({ afterId: 0, limit: 1000 });
    if (due.length === 0) return sent;
    for (const { id, revision } of due) {
      const [claimed] = await ledger.claim([alone([{ id, revision }])]);
      if (claimed === undefined) continue;
      const { members, ...request } = claimed;
      sent.push({ ...request, names: members.map(({ kind, key }) => `${kind} ${key}`) });
      const decision = settle(claimed);
      const settlements = members.map((member) => ({ id: member.id, revision: member.revision, decision }));
      await ledger.settle([{ claim: claimed, settlements, keep: decision.kind === 'unconfirmed', groupMax: null }]);
    }
  }
}

let nextRemoteId = 1000;
function accepted({ operation }: ClaimedRequest): Decision {
  nextRemoteId += 1;
  return delivered(operation.endsWith('.create') ? nextRemoteId : null);
}

/** Settles each unconfirmed delivery that a list can show as absent. */
async function findNothing(): Promise<string[]> {
  const found = await ledger.unconfirmedDeliveries({ limit: 1000 });
  const decision: Decision = {
    kind: 'resend',
    dueAt: 0,
    absent: true,
    reason: { code: 'untouched', message: 'It is not there.' },
  };
  const requests = Map.groupBy(found, ({ importId, id }) => importId ?? -id);
  for (const members of requests.values()) {
    const settlements = members.map(({ id, revision }) => ({ id, revision, decision }));
    await ledger.settle([{ claim: null, settlements, keep: true, groupMax: null }]);
  }
  return found.map(({ kind, key }) => `${kind} ${key}`);
}

function rows(sql: string): Record<string, unknown>[] {
  const db = new Database(file, { readonly: true });
  try {
    return db.prepare<[], Record<string, unknown>>(sql).all();
  } finally {
    db.close();
  }
}

/** The keys that the first version of the program computed for these creates. Their items never change their numbers. */
const KEYS = [
  ['product due', 't-jDVrch31HkQLj0iaQb6RsPn4Y3myIHVj_Vyit-zNg'],
  ['material wool', 'GdtS2JiOan28R8tTFDaeGzRCwTlolBad4KnJ9Pin-zE'],
  ['bom_item line-waiting', 'xNA0sd7o3RtVHCVsxvwE4-CD5G_n0X0_j9dL6li5Vcg'],
] as const;

const expectSent = (sent: readonly Sent[], name: string) => sent.filter(({ names }) => names.includes(name));

describe('an upgraded ledger that is worked with', () => {
  it.each(KEYS)(
    'an upgraded ledger sends a create that was never sent under the key that it always had: %s',
    async (name, key) => {
      const [first] = expectSent(await sendAll(accepted), name);
      expect(stored.get(name)).toBeNull();
      expect({ key: first?.idempotencyKey, sends: first?.sends }).toEqual({ key, sends: 1 });
    },
  );

  it('an upgraded ledger sends a write again with the same key, path and bytes as before (I2)', async () => {
    const unconfirmed = await findNothing();
    const sent = await sendAll(accepted);
    const alone = [...stored].flatMap(([name, request]) =>
      request === null || request.operation === 'product.import' || request.state === 'rejected'
        ? []
        : [{ name, ...request }],
    );
    // Only a person can say of a BOM item whether it arrived.
    const again = alone.filter(({ name }) => name !== 'bom_item line-doubt');
    expect(again.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['product throttled', 'product uncertain', 'product moved-on', 'material patched']),
    );
    for (const { name, key, path, body } of again) {
      const [first] = expectSent(sent, name);
      expect({ name, key: first?.idempotencyKey, path: first?.path, body: first?.body, sends: first?.sends }).toEqual({
        name,
        key,
        path,
        body,
        sends: 2,
      });
    }
    expect(unconfirmed).toEqual(
      expect.arrayContaining(['product sending', 'product readable', 'product imp-doubt-a', 'passport withdrawn']),
    );
  });

  it('an upgraded ledger sends a kept import again as it is, and later the changes of its members', async () => {
    await findNothing();
    const sent = await sendAll(accepted);
    for (const name of ['imp-doubt', 'imp-due', 'imp-sending']) {
      const { key, path, body } = stored.get(`product ${name}-a`) ?? {};
      const [kept, follower, ...more] = expectSent(sent, `product ${name}-b`);
      expect(kept).toMatchObject({ idempotencyKey: key, path, body, sends: 3 });
      expect(kept?.names).toEqual([`product ${name}-a`, `product ${name}-b`]);
      expect(follower?.body).toContain(`${name}-b now`);
      expect(follower?.idempotencyKey).not.toBe(key);
      expect([more, expectSent(sent, `product ${name}-a`).length]).toEqual([[], 1]);
    }
    expect(expectSent(sent, 'product imp-alone').map(({ names }) => names)).toEqual([['product imp-alone']]);
  });

  it('an upgraded ledger sends nothing twice, loses nothing, and leaves to a person the same deliveries as before', async () => {
    await findNothing();
    const sent = await sendAll(accepted);
    const keys = sent.map(({ idempotencyKey }) => idempotencyKey);
    expect(new Set(keys).size).toBe(keys.length);
    // If an item has changed since, a second write follows its delivery.
    const creates = sent.filter(({ operation }) => operation.endsWith('.create')).flatMap(({ names }) => names);
    expect(creates.toSorted()).toEqual([
      'bom_item line-waiting',
      'material wool',
      ...['due', 'moved-on', 'readable', 'sending', 'suspect', 'throttled', 'uncertain'].map((key) => `product ${key}`),
    ]);
    const open = rows(
      "SELECT kind || ' ' || key || ': ' || state AS item FROM items WHERE state NOT IN ('delivered', 'superseded') ORDER BY id",
    );
    expect(open.map((row) => row['item'])).toEqual([
      'product gate: blocked',
      'product ambiguous: blocked',
      'product refused: rejected',
      'product sought: rejected',
      'product parked: parked',
      'product adopted: blocked',
      'product renamed: blocked',
      'product not-upserted: rejected',
      'bom_item line-doubt: in_doubt',
      'bom_item line-adopted: blocked',
      // The guard holds the new materials of a stream, and the part of a BOM item is not there.
      ...[1, 2, 3, 4, 5].map((at) => `material Q${at}: waiting`),
      'bom_item L2: waiting',
    ]);
    expect(verifyLedger(file, () => {}, LATER_STEPS)?.findings).toEqual([]);
  });

  it('an upgraded ledger looks again for a refused create, and sends it with its own bytes', async () => {
    await ledger.startRun({
      source: 'erp',
      trigger: 'cli',
      streams: ['default'],
      mappingRevision: 'r',
    });
    expect(await findNothing()).toContain('product sought');
    const [again] = expectSent(await sendAll(accepted), 'product sought');
    const { key, path, body } = stored.get('product sought') ?? {};
    expect(again).toMatchObject({ idempotencyKey: key, path, body, sends: 2 });
  });

  it('an upgraded ledger acknowledges what was sent and not what the item has become meanwhile (I4)', async () => {
    const unconfirmed = await ledger.unconfirmedDeliveries({ limit: 1000 });
    const { id = 0, revision = 0 } = unconfirmed.find(({ key }) => key === 'moved-on') ?? {};
    const decision: Decision = { kind: 'delivered', remoteId: 7, contentKnown: true, by: 'read_back' };
    await ledger.settle([{ claim: null, settlements: [{ id, revision, decision }], keep: false, groupMax: null }]);
    expect(rows("SELECT acknowledged, baseline, state, operation, revision FROM items WHERE key = 'moved-on'")).toEqual(
      [
        {
          acknowledged: 2,
          baseline: '{"name":"moved-on before","sku":"SKU-moved-on"}',
          state: 'due',
          operation: 'product.import',
          revision: 2,
        },
      ],
    );
  });

  it('an upgraded ledger gives a new request another number than any that an older request had', async () => {
    const before = Number(rows('SELECT max(id) AS id FROM requests')[0]?.['id']);
    await sendAll((claimed) => {
      if (claimed.sends === 1) expect(claimed.request).toBeGreaterThan(before);
      return accepted(claimed);
    });
  });

  it('an upgraded ledger shows the timeline of an item as before', () => {
    const entries = ledger.views
      .item('product', 'readable')
      ?.timeline.map(({ what, revision }) => ({ what, revision }));
    expect(entries).toEqual([
      { what: 'staged', revision: 1 },
      { what: 'sent', revision: 1 },
      { what: 'unconfirmed', revision: 1 },
      { what: 'id_left', revision: null },
    ]);
    const revisions = ledger.views.item('product', 'long-lived')?.timeline.filter(({ what }) => what === 'delivered');
    expect(revisions?.map(({ revision }) => revision)).toEqual([6, 7, 9, 25]);
    expect(readdirSync(folder).filter((name) => name.includes('backup'))).toHaveLength(1);
  });
});
