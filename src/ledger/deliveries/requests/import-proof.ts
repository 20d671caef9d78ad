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
import { type LedgerContext, parseJson } from '../../store/context.ts';
import type { Meta } from '../../store/meta.ts';
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

/** The proofs that bulk imports may be used. Use it inside a transaction. */
export interface ProofsOfImports {
  find(): ImportProofs;
  store(use: ImportUse, proof: ImportProof): void;
  /** Call it when a person asks for another import of a blocked change: imports of changes have to be proven again. */
  tryChangesAgain(): void;
  /** Stages the changes that were blocked while imports were not used, if imports may be used again. */
  releaseChanges(): void;
  /**
   * The most changed products that a new import may have. `blocked` is the reason if no change may be imported, except
   * a change that may have arrived; else null.
   */
  changesMax(): { countMax: number; blocked: Reason | null };
  lostImports(use: ImportUse): DeliveryName[][];
  isOpen(delivery: DeliveryName): boolean;
  gain(request: { use: ImportUse; dueMax: number }): { due: number; listed: number };
}

export function createImportProofs(
  { db, profile, clock }: Pick<LedgerContext, 'db' | 'profile' | 'clock'>,
  { meta, reconcile }: { meta: Meta; reconcile: (itemId: number, again: boolean) => void },
): ProofsOfImports {
  const under = formOf(profile);
  const underBefore = formBefore(profile);
  const sql = {
    due: db
      .prepare<[Operation, number], number>(
        "SELECT count(*) FROM (SELECT 1 FROM items WHERE state = 'due' AND operation = ? LIMIT +?)",
      )
      .pluck(),
    // The index of the unconfirmed deliveries that are looked up.
    lost: db.prepare<[Operation], DeliveryName & { importId: number }>(
      `SELECT i.id, i.revision, i.request_id AS importId FROM items i
       WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND i.operation = ?
         AND i.request_place IS NOT NULL`,
    ),
    open: db
      .prepare<[{ id: number; revision: number }], number>(
        `SELECT 1 FROM items i WHERE i.id = @id AND i.revision = @revision AND ${isOpen('i')}`,
      )
      .pluck(),
    bound: db.prepare<[], number>("SELECT count(*) FROM items WHERE kind = 'product' AND remote_id <> 'null'").pluck(),
    others: db.prepare<[], number>("SELECT count(*) FROM listed WHERE kind = 'product'").pluck(),
    blocked: db
      .prepare<[], number>(
        `SELECT id FROM items i WHERE ${isStuck('i')} AND i.state = 'blocked' AND i.operation = 'product.import'
           AND i.reason ->> '$.code' = 'import_unproven'`,
      )
      .pluck(),
  };

  function find(): ImportProofs {
    const stored = readStored(meta);
    return stored?.under === under || stored?.under === underBefore ? stored.proofs : NOTHING_PROVEN;
  }

  function store(use: ImportUse, proof: ImportProof): void {
    meta.set(NAME, JSON.stringify({ under, proofs: { ...find(), [use]: proof } } satisfies Stored));
    if (use === 'changes') releaseChanges();
  }

  function releaseChanges(): void {
    if (isPutOff(find().changes, clock.now())) return;
    for (const id of sql.blocked.all()) reconcile(id, true);
  }

  return {
    find,
    store,
    tryChangesAgain() {
      if (isPutOff(find().changes, clock.now())) store('changes', UNTRIED);
    },
    releaseChanges,
    changesMax() {
      const { changes } = find();
      const size = nextProofSize(changes, clock.now());
      if (size > 0 || !('message' in changes)) return { countMax: Math.max(1, size), blocked: null };
      return { countMax: 1, blocked: { code: 'import_unproven', message: `${changes.message} ${CHANGES_CURE}` } };
    },
    lostImports: (use) => [...Map.groupBy(sql.lost.all(OPERATION_OF[use]), ({ importId }) => importId).values()],
    isOpen: ({ id, revision }) => sql.open.get({ id, revision }) !== undefined,
    gain: ({ use, dueMax }) => ({
      due: sql.due.get(OPERATION_OF[use], dueMax) ?? 0,
      listed: (sql.bound.get() ?? 0) + (sql.others.get() ?? 0),
    }),
  };
}

const CHANGES_CURE =
  'No change of a product is imported until then. Set `productUpdate: none` in the profile, or let the platform update products by SKU and run `dpp-sync replay`.';

const OPERATION_OF: Record<ImportUse, Operation> = { creates: 'product.create', changes: 'product.import' };

const NOTHING_PROVEN: ImportProofs = { creates: UNTRIED, changes: UNTRIED };

/** The proofs that were stored last, even if the profile has changed since. */
export function readImportProofs(meta: Pick<Meta, 'get'>): ImportProofs {
  return readStored(meta)?.proofs ?? NOTHING_PROVEN;
}

function readStored(meta: Pick<Meta, 'get'>): Stored | null {
  const text = meta.get(NAME);
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
