/** Whether the platform's bulk import may be used for new products. The ledger keeps it. */
export type ImportProof =
  /** No import of a new product was looked up yet. */
  | { state: 'untried' }
  /**
   * The list has shown the first imported product exactly once. With `answersIds` the answer has named the product's id, so
   * the product was made before the answer.
   */
  | { state: 'proven'; answersIds: boolean }
  /** New products are sent one by one. `message` says why, in a full sentence. */
  | { state: 'failed'; message: string; at: number };

export const UNTRIED: ImportProof = { state: 'untried' };
