import { type ImportProof, UNTRIED } from '../../../domain/delivery/import-proof.ts';
import type { DeliveryName } from '../../../domain/ports/claim.ts';
import type { Profile } from '../../../domain/profile.ts';
import { canonicalJson } from '../../../lib/canonical-json.ts';
import { sha256Url } from '../../../lib/hash.ts';
import type { JsonValue } from '../../../lib/json.ts';
import { type LedgerContext, parseJson } from '../../store/context.ts';
import type { Meta } from '../../store/meta.ts';
import { isOpen } from '../delivery-states.ts';

const NAME = 'import_proof';

interface Stored {
  /** The hash of the part of the profile that decides how imports look and are read. */
  under: string;
  proof: ImportProof;
}

/** The proof that bulk imports may be used for new products. Use it inside a transaction. */
export interface ImportProofs {
  find(): ImportProof;
  store(proof: ImportProof): void;
  isOpen(delivery: DeliveryName): boolean;
  gain(request: { dueMax: number }): { due: number; listed: number };
}

export function createImportProofs({ db, profile }: Pick<LedgerContext, 'db' | 'profile'>, meta: Meta): ImportProofs {
  const under = formOf(profile);
  const sql = {
    due: db
      .prepare<[number], number>(
        "SELECT count(*) FROM (SELECT 1 FROM items WHERE state = 'due' AND operation = 'product.create' LIMIT +?)",
      )
      .pluck(),
    open: db
      .prepare<[{ id: number; revision: number }], number>(
        `SELECT 1 FROM items i WHERE i.id = @id AND i.revision = @revision AND ${isOpen('i')}`,
      )
      .pluck(),
    bound: db.prepare<[], number>("SELECT count(*) FROM items WHERE kind = 'product' AND remote_id <> 'null'").pluck(),
    others: db.prepare<[], number>("SELECT count(*) FROM listed WHERE kind = 'product'").pluck(),
  };

  return {
    find() {
      const stored = readStored(meta);
      return stored?.under === under ? stored.proof : UNTRIED;
    },
    store: (proof) => meta.set(NAME, JSON.stringify({ under, proof } satisfies Stored)),
    isOpen: ({ id, revision }) => sql.open.get({ id, revision }) !== undefined,
    gain: ({ dueMax }) => ({
      due: sql.due.get(dueMax) ?? 0,
      listed: (sql.bound.get() ?? 0) + (sql.others.get() ?? 0),
    }),
  };
}

/** The proof that was stored last, even if the profile has changed since. */
export function readImportProof(meta: Pick<Meta, 'get'>): ImportProof {
  return readStored(meta)?.proof ?? UNTRIED;
}

function readStored(meta: Pick<Meta, 'get'>): Stored | null {
  const text = meta.get(NAME);
  return text === null ? null : parseJson<Stored>(text);
}

/** A hash of the settings of the profile for imports. If one of them changes, imports have to be proven again. */
function formOf({ imports, wireNames, idPaths, idUrlPaths, list, requests }: Profile): string {
  const form = {
    imports,
    names: wireNames.product,
    ids: idPaths.product,
    // Without these settings the form is the one that earlier versions have stored.
    ...(idUrlPaths.product.length > 0 && { addresses: idUrlPaths.product }),
    ...(list.entry !== null && { entry: list.entry }),
    ...(requests.productRow !== null && { row: requests.productRow }),
  };
  return sha256Url(canonicalJson(form as unknown as JsonValue));
}
