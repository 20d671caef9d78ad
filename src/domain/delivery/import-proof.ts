/** Whether the platform's bulk import may be used for new products. The ledger stores it. */
export type ImportProof =
  /** No import of a new product was looked up yet. */
  | { state: 'untried' }
  /**
   * The list has shown the first imported product exactly once. With `answersIds` the answer has named the same id as the list,
   * so the product was made before the answer.
   */
  | { state: 'proven'; answersIds: boolean }
  /** The answers to first imports were lost. The next one is tried at `until`; new products are sent one by one meanwhile. */
  | { state: 'postponed'; message: string; at: number; until: number }
  /** New products are sent one by one. `message` says why, in a full sentence. */
  | { state: 'failed'; message: string; at: number };

export const UNTRIED: ImportProof = { state: 'untried' };
