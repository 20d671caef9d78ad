/** What bulk imports are used for. Each use has to prove itself. */
export const IMPORT_USES = ['creates', 'changes'] as const;
export type ImportUse = (typeof IMPORT_USES)[number];

/** Whether the platform's bulk import may be used for one use. The ledger stores it. */
export type ImportProof =
  /** No import was looked up yet. `failures`: how many imports in a row had no result. */
  | { state: 'untried'; failures?: number }
  /**
   * The list has shown each product of an import of `size` products exactly once. A larger import is a proof again, and
   * so is an import whose answer has another form. With `answersIds` the answers have named each product: a new one with
   * the same id as the list, so the products were made before the answer. `form` has the features of all answers that a
   * list has confirmed. With `isTaken` no list could be read, and the profile takes answers without proof.
   */
  | {
      state: 'proven';
      size: number;
      answersIds: boolean;
      form: readonly string[];
      isTaken?: true;
      failures?: number;
    }
  /** Too many imports in a row had no result. The next one is tried at `until`. */
  | { state: 'postponed'; message: string; at: number; until: number; answersIds?: boolean }
  /**
   * No import is used. `message` says why, in a full sentence. `overwrote` names products that the platform had already
   * and that imports of new products have changed.
   */
  | { state: 'failed'; message: string; at: number; answersIds?: boolean; overwrote?: Overwritten };

/** Products that imports of new products have changed: how many there are, and the names of the first ones. */
export interface Overwritten {
  count: number;
  names: readonly string[];
  /** True if an answer has only counted them, so that they are some of these products. */
  isAtMost?: true;
}

export type ImportProofs = Record<ImportUse, ImportProof>;

export const UNTRIED: ImportProof = { state: 'untried' };

/** The size of the proof that follows a proof of this size. */
export function sizeAfter(size: number): number {
  return size === 0 ? 1 : size * 10;
}

/** The most products of an import for which the answer is believed. */
export function provenSize(proof: ImportProof): number {
  return proof.state === 'proven' ? proof.size : 0;
}

/** The most products that the next import may have as a proof; 0 while no import is used. */
export function nextProofSize(proof: ImportProof, now: number): number {
  return isPutOff(proof, now) ? 0 : sizeAfter(provenSize(proof));
}

/** True if no import may be tried now. A clock that is set back must not make the wait longer. */
export function isPutOff(proof: ImportProof, now: number): boolean {
  if (proof.state === 'failed') return true;
  return proof.state === 'postponed' && now >= proof.at && now < proof.until;
}

/** True if the platform makes the products of an import before it answers. Also while imports are not used any more. */
export function isMadeBeforeAnswer(proof: ImportProof): boolean {
  return proof.state !== 'untried' && proof.answersIds === true;
}

/** True if an answer has no feature that a list has not confirmed. */
export function isKnownForm(proof: ImportProof, form: readonly string[]): boolean {
  return proof.state === 'proven' && form.every((feature) => proof.form.includes(feature));
}
