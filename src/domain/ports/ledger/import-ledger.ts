import type { ImportProof, ImportProofs, ImportUse } from '../../delivery/import-proof.ts';
import type { DeliveryName } from '../claim.ts';

/** The facts of the ledger about bulk imports of products. Each method is one whole transaction. */
export interface ImportLedger {
  /** The proofs under the present profile: another form of imports has to be proven again. */
  importProofs(): Promise<ImportProofs>;
  /** Stores a proof. If changed products may be imported again, the changes that were blocked before become due. */
  storeImportProof(use: ImportUse, proof: ImportProof): Promise<void>;
  /** The imports of an earlier process whose products wait for a list, with these products. */
  lostImports(use: ImportUse): Promise<DeliveryName[][]>;
  /** True if this revision is still due, in flight or unconfirmed. */
  isOpen(delivery: DeliveryName): Promise<boolean>;
  /**
   * How many products of one use are due, at most `dueMax`, and how many entries the platform's list of products is
   * known to have. These numbers show whether imports save requests.
   */
  importGain(request: { use: ImportUse; dueMax: number }): Promise<{ due: number; listed: number }>;
}
