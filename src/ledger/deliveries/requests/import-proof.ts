// The proofs that bulk imports may be used.

import {
  type ImportProof,
  type ImportProofs,
  type ImportUse,
  isPutOff,
  nextProofSize,
  UNTRIED,
} from '../../../domain/delivery/import-proof.ts';
import type { Operation } from '../../../domain/delivery/operation.ts';
import type { Reason } from '../../../domain/delivery/reason.ts';
import type { DeliveryName } from '../../../domain/ports/claim.ts';
import type { Profile } from '../../../domain/profile.ts';
import { canonicalJson } from '../../../lib/canonical-json.ts';
import { sha256Url } from '../../../lib/hash.ts';
import type { JsonValue } from '../../../lib/json.ts';
import { reconcile } from '../../items/reconcile.ts';
import { parseJson } from '../../store/context.ts';
import { readMeta, writeMeta } from '../../store/meta.ts';
import { column, perDatabase, statement } from '../../store/statement.ts';
import type { Reads, Tx } from '../../store/tx.ts';
import { isOpen, isStuck } from '../delivery-states.ts';

const NAME = 'import_proof';

interface Stored {
  /** The hash of the part of the profile that decides how imports look and are read. */
  under: string;
  proofs: ImportProofs;
}

/** What earlier releases have stored: a proof for new products alone, which one product has given. */
interface StoredBefore {
  under: string;
  proof: Exclude<ImportProof, { state: 'proven' }> | { state: 'proven'; answersIds: boolean };
}

/** The hashes under which proofs are stored. Each import asks for them, and another profile needs another process. */
const formsOf = perDatabase(({ profile }: Reads) => ({ form: formOf(profile), before: formBefore(profile) }));

const SQL = {
  due: column<[Operation, number], number>(
    "SELECT count(*) FROM (SELECT 1 FROM items WHERE state = 'due' AND operation = ? LIMIT +?)",
  ),
  // The index of the unconfirmed deliveries that are looked up.
  lost: statement<[Operation], DeliveryName & { importId: number }>(
    `SELECT i.id, i.revision, i.request_id AS importId FROM items i
     WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND i.operation = ?
       AND i.request_place IS NOT NULL`,
  ),
  open: column<[{ id: number; revision: number }], number>(
    `SELECT 1 FROM items i WHERE i.id = @id AND i.revision = @revision AND ${isOpen('i')}`,
  ),
  bound: column<[], number>("SELECT count(*) FROM items WHERE kind = 'product' AND remote_id <> 'null'"),
  others: column<[], number>("SELECT count(*) FROM listed WHERE kind = 'product'"),
  blocked: column<[], number>(
    `SELECT id FROM items i WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = 'product.import'
       AND i.reason ->> '$.code' = 'import_unproven'`,
  ),
};

export function importProofs(reads: Reads): ImportProofs {
  const stored = readStored(reads);
  const { form, before } = formsOf(reads);
  return stored?.under === form || stored?.under === before ? stored.proofs : NOTHING_PROVEN;
}

export function storeImportProof(tx: Tx, use: ImportUse, proof: ImportProof): void {
  const stored: Stored = { under: formsOf(tx).form, proofs: { ...importProofs(tx), [use]: proof } };
  writeMeta(tx, NAME, JSON.stringify(stored));
  if (use === 'changes') releaseChanges(tx);
}

/** Call it when a person asks for another import of a blocked change: imports of changes have to be proven again. */
export function tryChangesAgain(tx: Tx): void {
  if (isPutOff(importProofs(tx).changes, tx.clock.now())) storeImportProof(tx, 'changes', UNTRIED);
}

/** Stages the changes that were blocked while imports were not used, if imports may be used again. */
export function releaseChanges(tx: Tx): void {
  if (isPutOff(importProofs(tx).changes, tx.clock.now())) return;
  for (const id of SQL.blocked(tx).all()) reconcile(tx, id, true);
}

/**
 * The most changed products that a new import may have. `blocked` is the reason if no change may be imported, except
 * a change that may have arrived; else null.
 */
export function changesMax(tx: Tx): { countMax: number; blocked: Reason | null } {
  const { changes } = importProofs(tx);
  const size = nextProofSize(changes, tx.clock.now());
  if (size > 0 || !('message' in changes)) return { countMax: Math.max(1, size), blocked: null };
  return { countMax: 1, blocked: { code: 'import_unproven', message: `${changes.message} ${CHANGES_CURE}` } };
}

export function lostImports(reads: Reads, use: ImportUse): DeliveryName[][] {
  return [...Map.groupBy(SQL.lost(reads).all(OPERATION_OF[use]), ({ importId }) => importId).values()];
}

export function isOpenDelivery(reads: Reads, { id, revision }: DeliveryName): boolean {
  return SQL.open(reads).get({ id, revision }) !== undefined;
}

export function importGain(
  reads: Reads,
  { use, dueMax }: { use: ImportUse; dueMax: number },
): { due: number; listed: number } {
  return {
    due: SQL.due(reads).get(OPERATION_OF[use], dueMax) ?? 0,
    listed: (SQL.bound(reads).get() ?? 0) + (SQL.others(reads).get() ?? 0),
  };
}

const CHANGES_CURE =
  'No change of a product is imported until then. Set `productUpdate: none` in the profile, or let the platform update products by SKU and run `dpp-sync replay`.';

const OPERATION_OF: Record<ImportUse, Operation> = { creates: 'product.create', changes: 'product.import' };

const NOTHING_PROVEN: ImportProofs = { creates: UNTRIED, changes: UNTRIED };

/** The proofs that were stored last, even if the profile has changed since. */
export function readImportProofs(reads: Pick<Reads, 'db'>): ImportProofs {
  return readStored(reads)?.proofs ?? NOTHING_PROVEN;
}

function readStored(reads: Pick<Reads, 'db'>): Stored | null {
  const text = readMeta(reads, NAME);
  if (text === null) return null;
  const stored = parseJson<Stored | StoredBefore>(text);
  return 'proofs' in stored
    ? stored
    : { under: stored.under, proofs: { ...NOTHING_PROVEN, creates: fromBefore(stored) } };
}

/** An earlier release has sent imports of many products after one product alone had been shown by the list. */
function fromBefore({ proof }: StoredBefore): ImportProof {
  return proof.state === 'proven' ? { ...proof, size: 1, form: [] } : proof;
}

/** The hash that earlier releases have stored. Their profile had no words. */
function formBefore({ imports: given, wireNames, idPaths }: Profile): string {
  const { words: _, ...imports } = given;
  const form = { imports, names: wireNames.product, ids: idPaths.product };
  return sha256Url(canonicalJson(form as unknown as JsonValue));
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
