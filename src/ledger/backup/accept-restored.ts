// Taking on a ledger that was put back from a backup. What it says of the API is as old as the backup, so
// - new idempotency keys differ from all of the lost time, whose answers a server would otherwise replay;
// - creates that may have been sent since are looked up first, and stay so as `restored.ts` has it;
// - of products and materials only the presence counts as known, and every record is taken anew from its source, so that
//   each is written in full once, with what the source says by then and not with what it said when the backup was made.

import { randomUUID } from 'node:crypto';
import { type DeliveryState, idempotencyKey, type Operation, transition } from '../../domain/delivery.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import { createContact, forgetListings } from '../contact/contact.ts';
import { createListedEntries } from '../contact/listed.ts';
import { createParts } from '../contact/parts.ts';
import { createItems } from '../items/items.ts';
import { presenceOf } from '../items/known-content.ts';
import { createRunAccounts } from '../records/run-accounts.ts';
import type { Sqlite } from '../store/database.ts';
import { createMeta } from '../store/meta.ts';
import { beginSuspicion, createRestored } from './restored.ts';

/** What has to be looked up, or looked at by a person, by operation. */
export type Suspected = Partial<Record<Operation, number>>;

interface OpenRow {
  id: number;
  itemId: number;
  operation: Operation;
  state: DeliveryState;
  desiredHash: string;
  revision: number;
  neverSent: number;
  uncertain: number;
  name: string;
}

interface BoundRow {
  id: number;
  kind: SubjectKind;
  baseline: string;
}

/**
 * Accepts what is in the file as the ledger from now on. One transaction: after a crash it was done or was not.
 *
 * @param generation that of the mark, which the ledger has to outgrow
 */
export function acceptRestored(
  db: Sqlite,
  { target, profile, clock, generation }: { target: string; profile: Profile; clock: Clock; generation: number },
): Suspected {
  const meta = createMeta(db);
  const sql = {
    open: db.prepare<[], OpenRow>(
      `SELECT d.id, d.item_id AS itemId, d.operation, d.state, d.desired_hash AS desiredHash, d.revision,
         d.sent_at IS NULL AS neverSent, d.uncertain, coalesce(i.natural_key, i.key) AS name
       FROM deliveries d JOIN items i ON i.id = d.item_id WHERE d.state IN ('waiting', 'due', 'sending', 'in_doubt')`,
    ),
    setKey: db.prepare<[string, number]>('UPDATE deliveries SET idempotency_key = ? WHERE id = ?'),
    supersede: db.prepare<[string, number, number]>(
      'UPDATE deliveries SET state = ?, settled_at = ?, desired = NULL, body = NULL, due_at = 0 WHERE id = ?',
    ),
    hasRecord: db
      .prepare<[number], number>(
        'SELECT 1 FROM items i JOIN records r ON r.id = i.record_id WHERE i.id = ? AND r.missing_since IS NULL',
      )
      .pluck(),
    bound: db.prepare<[], BoundRow>(
      `SELECT i.id, i.kind, i.baseline FROM items i JOIN records r ON r.id = i.record_id
       WHERE i.kind IN ('product', 'material') AND i.baseline IS NOT NULL AND r.missing_since IS NULL`,
    ),
    forget: db.prepare<[string, string, number]>('UPDATE items SET baseline = ?, baseline_hash = ? WHERE id = ?'),
    streams: db.prepare<[], number>('SELECT id FROM streams').pluck(),
    readAnew: db.prepare("UPDATE records SET state = 'stale', version = version + 1 WHERE missing_since IS NULL"),
    raise: db.prepare<[{ least: string }]>(
      `INSERT INTO meta (name, value) VALUES ('generation', @least)
       ON CONFLICT DO UPDATE SET value = CAST(max(CAST(value AS INTEGER), CAST(@least AS INTEGER)) + 1 AS TEXT)`,
    ),
  };

  return db
    .transaction((): Suspected => {
      const suspected: Suspected = {};
      const epoch = randomUUID();
      meta.set('epoch', epoch);
      meta.remove('backup_at');
      sql.raise.run({ least: String(generation + 1) });
      beginSuspicion(db, clock.now());
      const restored = createRestored({ db, clock });
      forgetListings(db);
      const contactRules = { firstContact: 'assume-empty', bom: 'create' } as const;
      const listed = createListedEntries({ db, profile });
      const contact = createContact({ db, clock, profile, contactRules }, { listed, restored });
      const parts = createParts({ db, contactRules });
      const items = createItems({ db, clock, profile, epoch, target }, { restored, contact, parts });

      for (const row of sql.open.all()) {
        const { id, itemId, operation, desiredHash: payloadHash, revision, name: naturalKey } = row;
        // I2 holds for what went out: only what never did as far as this ledger knows is given another key.
        if (row.neverSent === 1) {
          const parts = { epoch, target, operation, subject: itemId, naturalKey, payloadHash, revision };
          sql.setKey.run(idempotencyKey(parts), id);
        }
        // What waits is looked at when its refs arrive: they may turn out to be new.
        const suspicion = row.state === 'waiting' ? null : restored.suspicionOf(itemId, operation);
        if (suspicion) {
          items.suspect(row, suspicion);
          suspected[operation] = (suspected[operation] ?? 0) + 1;
        } else if (row.state === 'due' && isUpdate(operation) && row.uncertain === 0 && sql.hasRecord.get(itemId)) {
          // An older content would go out before the source is read; its record brings the change again.
          sql.supersede.run(transition('due', 'supersede'), clock.now(), id);
        }
      }
      for (const { id, kind, baseline } of sql.bound.all()) {
        // Without an update of products none could be written in full: each would end as unsupported.
        if (kind === 'product' && profile.productUpdate === 'none') continue;
        const known = presenceOf(profile, kind, { desired: baseline, before: baseline });
        sql.forget.run(known.baseline, known.hash, id);
      }
      const accounts = createRunAccounts(db);
      for (const streamId of sql.streams.all()) accounts.allPassedBy(streamId);
      sql.readAnew.run();
      return suspected;
    })
    .immediate();
}

function isUpdate(operation: Operation): boolean {
  return operation === 'product.import' || operation === 'material.update';
}
