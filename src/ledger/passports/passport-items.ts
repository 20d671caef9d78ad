import { fault } from '../../domain/faults.ts';
import type { SubjectKind } from '../../domain/item.ts';
import type { PassportDesire, PassportStatus } from '../../domain/passport.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { LedgerContext } from '../store/context.ts';

/** The product that a passport is of. */
export interface PassportOwner {
  key: string;
  naturalKey: string | null;
  source: string;
}

/** Passports as rows among the items. For use inside a transaction. */
export interface PassportItems {
  /** Writes what is wanted of a product's passport; reconcile it then. Gives its id. */
  desire(product: PassportOwner, desire: PassportDesire): number;
  /** A product was adopted whose passport a person has published, or withdrawn again: it stays as that person left it. */
  adopt(product: PassportOwner, status: PassportStatus): void;
  /** Has a passport judged again, whatever comes of it otherwise. */
  stir(id: number): void;
  /** What stirred it has been taken into account. */
  calm(id: number): void;
  /** Something of a product was delivered: what its passport waits for or was refused for may be there now. */
  stirBy(item: { id: number; kind: SubjectKind; key: string; isNew: boolean }): void;
}

export function createPassportItems({ db, clock }: Pick<LedgerContext, 'db' | 'clock'>): PassportItems {
  const sql = {
    put: db.prepare<[PassportOwner & { now: number; desired: string; hash: string }], { id: number }>(
      `INSERT INTO items (kind, key, natural_key, source, appeared_at, desired, desired_hash)
       VALUES ('passport', @key, @naturalKey, @source, @now, @desired, @hash)
       ON CONFLICT (kind, key) DO UPDATE SET natural_key = @naturalKey, source = @source, desired = @desired,
         desired_hash = @hash
       RETURNING id`,
    ),
    keepRef: db.prepare<[number, string]>(
      "INSERT OR IGNORE INTO refs (item_id, role, kind, key) VALUES (?, 'product', 'product', ?)",
    ),
    acknowledge: db.prepare<[string, string, number]>(
      "UPDATE items SET baseline = ?, baseline_hash = ?, remote_id = 'null' WHERE id = ?",
    ),
    stir: db.prepare<[number]>('UPDATE items SET stirred = 1 WHERE id = ?'),
    calm: db.prepare<[number]>('UPDATE items SET stirred = 0 WHERE id = ?'),
    stirProduct: db.prepare<[string]>("UPDATE items SET stirred = 1 WHERE kind = 'passport' AND key = ?"),
    stirOfPart: db.prepare<[number]>(
      `UPDATE items SET stirred = 1 WHERE kind = 'passport'
       AND key IN (SELECT key FROM refs WHERE item_id = ? AND role = 'product')`,
    ),
    stirUsers: db.prepare<[string]>(
      `UPDATE items SET stirred = 1 WHERE kind = 'passport' AND key IN (
         SELECT p.key FROM refs m JOIN refs p ON p.item_id = m.item_id AND p.role = 'product'
         WHERE m.kind = 'material' AND m.key = ?)`,
    ),
  };

  // Where there is none, nothing is stirred by what is delivered.
  let hasAny = db.prepare("SELECT 1 FROM items WHERE kind = 'passport' LIMIT 1").get() !== undefined;

  function put({ key, naturalKey, source }: PassportOwner, desire: PassportDesire): number {
    hasAny = true;
    const desired = desireText(desire);
    const row = sql.put.get({ key, naturalKey, source, now: clock.now(), desired, hash: sha256Url(desired) });
    if (!row) throw fault('internal', `The passport of ${key} could not be written.`);
    sql.keepRef.run(row.id, key);
    return row.id;
  }

  return {
    desire: put,
    adopt(product, status) {
      const id = put(product, { status, because: 'person', found: true });
      const text = statusText(status);
      sql.acknowledge.run(text, sha256Url(text), id);
    },
    stir: (id) => void sql.stir.run(id),
    calm: (id) => void sql.calm.run(id),
    stirBy({ id, kind, key, isNew }) {
      if (!hasAny) return;
      if (kind === 'product') sql.stirProduct.run(key);
      else if (kind === 'bom_item') sql.stirOfPart.run(id);
      // BOM items come after their material: of a new one no product is complete yet.
      else if (kind === 'material' && !isNew) sql.stirUsers.run(key);
    },
  };
}

/** A desire as the ledger keeps it. */
export function desireText(desire: PassportDesire): string {
  return canonicalJson({ ...desire });
}

/** What a step leaves behind at the API, as the ledger keeps it. */
export function statusText(status: PassportStatus): string {
  return canonicalJson({ status });
}
