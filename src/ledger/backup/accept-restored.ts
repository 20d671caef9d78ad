// Accepts a restored ledger. What it knows of the API is as old as the backup, so four things change:
// - New idempotency keys differ from all keys that were used since the backup. A server would answer a known key with
//   its earlier answer.
// - Updates and publications that were sent before the backup get new keys too. Later writes may have been acknowledged
//   since, and the earlier answer shows nothing about them. Repeating an update does no harm. A publication is looked
//   up before it is repeated.
// - Creates that may have been sent since the backup are looked up first. `restored.ts` decides which.
// - Of products and materials the ledger only knows that they exist. Every record is mapped again when its source is
//   read, so each product and material is written in full once, with the source's present content. An item that is
//   missing from its source is written when it comes back.

import { randomUUID } from 'node:crypto';
import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Clock } from '../../lib/clock.ts';
import { createAdoptedBom } from '../contact/adopted-bom.ts';
import { createContact } from '../contact/contact.ts';
import { createListedEntries } from '../contact/listed.ts';
import { createListings, forgetListings } from '../contact/listings.ts';
import { createRequests } from '../deliveries/requests/requests.ts';
import { createUnconfirmed } from '../deliveries/unconfirmed.ts';
import { mayHaveArrived } from '../items/item-row.ts';
import { createItems } from '../items/items.ts';
import { presenceOf } from '../items/known-content.ts';
import { NO_FORMS } from '../items/wire-forms.ts';
import { createRunAccounts } from '../records/run-accounts.ts';
import type { Sqlite } from '../store/database.ts';
import { createMeta } from '../store/meta.ts';
import { beginLookUps, createRestored, RESTORED, type WhyUnconfirmed } from './restored.ts';

/** How many deliveries have to be looked up, by operation. A person has to look up those that the API cannot list. */
export type ToLookUp = Partial<Record<Operation, number>>;

interface OpenRow {
  id: number;
  revision: number;
  operation: Operation;
  state: DeliveryState;
  uncertain: 0 | 1;
}

interface BoundRow {
  id: number;
  kind: SubjectKind;
  baseline: string;
}

/**
 * Accepts the ledger in the file. All of it is one transaction, so a crash leaves the ledger accepted or unchanged.
 *
 * @param generation the count of commits in the mark; the ledger's own count has to become greater
 */
export function acceptRestored(
  db: Sqlite,
  { target, profile, clock, generation }: { target: string; profile: Profile; clock: Clock; generation: number },
): ToLookUp {
  const meta = createMeta(db);
  const sql = {
    open: db.prepare<[], OpenRow>(
      `SELECT id, revision, operation, state, uncertain FROM items WHERE state IN ('waiting', 'due', 'sending', 'in_doubt')`,
    ),
    hasRecord: db
      .prepare<[number], number>(
        'SELECT 1 FROM items i JOIN records r ON r.id = i.record_id WHERE i.id = ? AND r.missing_since IS NULL',
      )
      .pluck(),
    bound: db.prepare<[], BoundRow>(
      `SELECT id, kind, iif(acknowledged = 1, desired, baseline) AS baseline FROM items
       WHERE kind IN ('product', 'material') AND acknowledged > 0`,
    ),
    forget: db.prepare<[string, string, number]>(
      'UPDATE items SET acknowledged = 2, baseline = ?, baseline_hash = ? WHERE id = ?',
    ),
    streams: db.prepare<[], number>('SELECT id FROM streams').pluck(),
    readAgain: db.prepare("UPDATE records SET state = 'stale', version = version + 1"),
    raise: db.prepare<[{ least: string }]>(
      `INSERT INTO meta (name, value) VALUES ('generation', @least)
       ON CONFLICT DO UPDATE SET value = CAST(max(CAST(value AS INTEGER), CAST(@least AS INTEGER)) + 1 AS TEXT)`,
    ),
  };

  return db
    .transaction((): ToLookUp => {
      const toLookUp: ToLookUp = {};
      const epoch = randomUUID();
      meta.set('epoch', epoch);
      meta.remove('backup_at');
      sql.raise.run({ least: String(generation + 1) });
      beginLookUps(db, clock.now());
      const restored = createRestored({ db, clock });
      forgetListings(db);
      const contactRules = { firstContact: 'assume-empty', bom: 'create' } as const;
      const listed = createListedEntries({ db, profile });
      const listings = createListings({ db, clock }, listed);
      const contact = createContact({ db, profile, contactRules }, { listings, listed, restored });
      const adoptedBom = createAdoptedBom({ db, contactRules, forms: NO_FORMS });
      const requests = createRequests(db);
      const context = { db, clock, profile, forms: NO_FORMS, epoch, target };
      const items = createItems(context, { restored, contact, adoptedBom, requests });

      const whyUnconfirmed = (row: OpenRow): WhyUnconfirmed | null => {
        const wasPublishing = isPublication(row.operation) && mayHaveArrived(row);
        return wasPublishing
          ? { reason: RESTORED, lookAt: clock.now() }
          : restored.whyUnconfirmed(row.id, row.operation);
      };

      for (const row of sql.open.all()) {
        const { id, operation } = row;
        // I2: a create that was sent keeps its key. A delivery that is claimed later gets a key of the new epoch. A
        // waiting delivery is checked when its refs arrive, because the refs may prove that it is new.
        const why = row.state === 'waiting' ? null : whyUnconfirmed(row);
        if (why) {
          items.markUnconfirmed(row, why);
          toLookUp[operation] = (toLookUp[operation] ?? 0) + 1;
        } else if (row.state === 'due' && isUpdate(operation) && row.uncertain === 0 && sql.hasRecord.get(id)) {
          // The staged content is as old as the backup. The item's record stages the change again after its source was
          // read.
          items.takeBack(id);
        }
      }
      for (const { id, kind, baseline } of sql.bound.all()) {
        // A platform that updates no products would not accept a full write of a product.
        if (kind === 'product' && profile.productUpdate === 'none') continue;
        const known = presenceOf(profile, kind, { desired: baseline, before: baseline });
        sql.forget.run(known.baseline, known.hash, id);
      }
      // No process is sending any more. A delivery that is being sent has a request, so the leases are voided before
      // the requests are released.
      createUnconfirmed({ db, clock, profile }, items).voidLeases(profile.settlingDelayMs.reset);
      requests.releaseAll(withNewKeys(profile));
      const accounts = createRunAccounts(db);
      for (const streamId of sql.streams.all()) accounts.allPassedBy(streamId);
      sql.readAgain.run();
      return toLookUp;
    })
    .immediate();
}

/**
 * The operations whose requests are not sent again under their old keys. Where the platform updates no products, an
 * import would make a second product under another key.
 */
function withNewKeys({ productUpdate }: Profile): Operation[] {
  const operations: Operation[] = ['material.update', 'passport.publish', 'passport.unpublish'];
  return productUpdate === 'import' ? [...operations, 'product.import'] : operations;
}

function isPublication(operation: Operation): boolean {
  return operation === 'passport.publish' || operation === 'passport.unpublish';
}

function isUpdate(operation: Operation): boolean {
  return operation === 'product.import' || operation === 'material.update';
}
