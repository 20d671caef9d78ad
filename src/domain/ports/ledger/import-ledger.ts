import type { ImportProof } from '../../delivery/import-proof.ts';
import type { DeliveryName } from '../claim.ts';

/** The facts of the ledger about bulk imports of new products. Each method is one whole transaction. */
export interface ImportLedger {
  /** The proof under the present profile: another form of imports has to be proven again. */
  importProof(): Promise<ImportProof>;
  storeImportProof(proof: ImportProof): Promise<void>;
  /** True if this revision is still due, in flight or unconfirmed. */
  isOpen(delivery: DeliveryName): Promise<boolean>;
  /**
   * How many new products are due, at most `dueMax`, and how many entries the platform's list of products is known to
   * have. These numbers show whether imports save requests.
   */
  importGain(request: { dueMax: number }): Promise<{ due: number; listed: number }>;
}
